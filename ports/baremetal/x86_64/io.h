/* SPDX-License-Identifier: MIT */
/* Instructions that only kernels use. */
#ifndef BAREMETAL_IO_H
#define BAREMETAL_IO_H

#include <stdint.h>

static inline void io_out(uint16_t port, uint8_t value) {
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t io_in(uint16_t port) {
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint64_t io_msr(uint32_t msr) {
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return low | (uint64_t)high << 32;
}

static inline void io_set_msr(uint32_t msr, uint64_t value) {
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

#define IO_CONTROL_REGISTER(name)                                                                  \
    static inline uint64_t io_##name(void) {                                                       \
        uint64_t value;                                                                            \
        __asm__ volatile("movq %%" #name ", %0" : "=r"(value));                                    \
        return value;                                                                              \
    }                                                                                              \
    static inline void io_set_##name(uint64_t value) {                                             \
        __asm__ volatile("movq %0, %%" #name : : "r"(value) : "memory");                           \
    }
IO_CONTROL_REGISTER(cr0)
IO_CONTROL_REGISTER(cr2)
IO_CONTROL_REGISTER(cr3)
IO_CONTROL_REGISTER(cr4)

static inline void io_set_xcr0(uint64_t value) {
    __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static inline void io_forget_page(uint64_t address) {
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

#endif
