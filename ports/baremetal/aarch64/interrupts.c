/* SPDX-License-Identifier: MIT */
/* Implements the interrupt flag by the CPU's own instructions. */
#include "interrupts.h"

static void native_off(void) {
    CARRY_BODY(native_off, "msr daifset, #2");
    __asm__ volatile("msr daifset, #2" : : : "memory");
}

static void native_on(void) {
    CARRY_BODY(native_on, "msr daifclr, #2");
    __asm__ volatile("msr daifclr, #2" : : : "memory");
}

static uintptr_t native_save(void) {
    CARRY_BODY(native_save, "mrs x0, daif");
    return cpu_flags();
}

static void native_restore(uintptr_t flags) {
    CARRY_BODY(native_restore, "msr daif, x0");
    CPU_WRITE("daif", flags);
}

const struct interrupts interrupts_native = {native_off, native_on, native_save, native_restore};
