/* SPDX-License-Identifier: MIT */
/* Sets up a CPU's registers and its local APIC (Intel SDM vol. 3, chapter 11). */
#include "base/cpuid.h"
#include "io.h"
#include "kernel.h"

enum apic_register {
    APIC_ID = 0x20,
    APIC_EOI = 0xb0,
    APIC_SPURIOUS = 0xf0,
    APIC_COMMAND = 0x300,
    APIC_TARGET = 0x310,
    APIC_TIMER = 0x320,
    APIC_INITIAL = 0x380,
    APIC_DIVIDE = 0x3e0,
};

#define COMMAND_NMI     0x00000400
#define COMMAND_INIT    0x00000500
#define COMMAND_START   0x00000600
#define COMMAND_ASSERT  0x00004000
#define COMMAND_PENDING 0x00001000
#define COMMAND_SELF    0x00040000

extern const uint8_t boot_second[], boot_second_end[];

static volatile uint32_t *apic_register_at(enum apic_register index) {
    return (volatile uint32_t *)(uintptr_t)(0xfee00000 + index);
}

void cpu_acknowledge(const struct trap_frame *frame) {
    (void)frame;
    *apic_register_at(APIC_EOI) = 0;
}

static void send_command(unsigned target, uint32_t value) {
    uint64_t flags = cpu_interrupts_off();
    *apic_register_at(APIC_TARGET) = target << 24;
    *apic_register_at(APIC_COMMAND) = value;
    while (*apic_register_at(APIC_COMMAND) & COMMAND_PENDING)
        cpu_pause();
    cpu_interrupts_restore(flags);
}

void cpu_send_nmi_to_self(void) {
    send_command(cpu_here()->id, COMMAND_NMI | COMMAND_ASSERT);
}

void cpu_timer(uint32_t ticks) {
    *apic_register_at(APIC_DIVIDE) = 0xb; /* divides by 1 */
    *apic_register_at(APIC_TIMER) = TRAP_TIMER;
    *apic_register_at(APIC_INITIAL) = ticks;
}

/* Enables SSE, the local APIC and, if this CPU has them, XSAVE with all components, and SMAP. */
static void enable_features(void) {
    uint64_t cr4 = io_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT;
    bool has_xsave = carry_cpuid(1, 0).reg[2] >> 26 & 1;
    bool has_smap = carry_cpuid_has_leaf(7) && (carry_cpuid(7, 0).reg[1] >> 20 & 1);
    io_set_cr4(cr4 | (has_xsave ? CR4_OSXSAVE : 0) | (has_smap ? CR4_SMAP : 0));
    if (has_xsave) {
        struct carry_cpuid found = carry_cpuid(13, 0);
        io_set_xcr0(found.reg[0] | (uint64_t)found.reg[3] << 32);
    }
    io_out(0x21, 0xff); /* masks all interrupts of the legacy controllers */
    io_out(0xa1, 0xff);
    *apic_register_at(APIC_SPURIOUS) = 0x100 | TRAP_SPURIOUS;
}

/* Waits by writing to port 0x80: each write takes about a microsecond. */
static void wait_microseconds(unsigned count) {
    while (count--)
        io_out(0x80, 0);
}

void cpu_enable(struct cpu *cpu) {
    io_set_msr(MSR_GS_BASE, (uint64_t)cpu);
    enable_features();
    cpu->id = *apic_register_at(APIC_ID) >> 24;
}

void cpu_boot_second(void) {
    uint8_t *start = (uint8_t *)SECOND_START;
    for (const uint8_t *from = boot_second; from < boot_second_end; from++)
        *start++ = *from;
    send_command(1, COMMAND_INIT | COMMAND_ASSERT);
    wait_microseconds(10000);
    send_command(1, COMMAND_START | COMMAND_ASSERT | SECOND_START >> 12);
    for (unsigned i = 0; i < 1000000 && cpu_count() < CPUS; i++)
        wait_microseconds(1);
}

void cpu_interrupt(const struct cpu *cpu) {
    send_command(cpu->id, COMMAND_ASSERT | TRAP_CALL);
}

/* Serialises by CPUID (SDM vol. 3, 9.1.3). */
void cpu_serialise(void) {
    carry_cpuid(0, 0);
}

void cpu_vectors_allow(void) {
    __asm__ volatile("clts" : : : "memory");
}

void cpu_vectors_forbid(void) {
    io_set_cr0(io_cr0() | CR0_TS);
}
