/* SPDX-License-Identifier: MIT */
/* Sets up a CPU's registers, and starts the second CPU by PSCI (DEN 0022). */
#include "gic.h"
#include "kernel.h"

#define PSCI_CPU_ON UINT64_C(0xc4000003)
#define SECOND      1 /* MPIDR_EL1 of the second CPU */

void boot_second(void); /* boot.S */

/* How many ticks of cpu_timer(), which counts ticks of a bus, last as long as one tick of QEMU's
 * timer, 16 ns. */
#define TIMER_DIVIDES_BY 16

void cpu_timer(uint32_t ticks) {
    CPU_WRITE("cntv_tval_el0", ticks / TIMER_DIVIDES_BY + 1);
    CPU_WRITE("cntv_ctl_el0", ticks != 0);
    __asm__ volatile("isb" : : : "memory");
}

/* Makes exceptions clear the permission to access user pages on entry. */
static void protect_user(void) {
    if (page_protects_user())
        CPU_WRITE("sctlr_el1", CPU_READ("sctlr_el1") & ~(uint64_t)SCTLR_SPAN);
    __asm__ volatile("isb" : : : "memory");
    page_forbid_user();
}

void cpu_enable(struct cpu *cpu) {
    CPU_WRITE("tpidr_el1", cpu);
    cpu->id = cpu->index;
    cpu_vectors_allow();
    protect_user();
    gic_prepare();
    __asm__ volatile("msr daifclr, #13" : : : "memory"); /* unmasks D, A and F, but not IRQ */
}

static bool psci_start_second(void) {
    register uint64_t x0 __asm__("x0") = PSCI_CPU_ON;
    register uint64_t x1 __asm__("x1") = SECOND;
    register uint64_t x2 __asm__("x2") = (uint64_t)boot_second;
    register uint64_t x3 __asm__("x3") = 0;
    __asm__ volatile("dsb sy; hvc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    return !x0;
}

void cpu_boot_second(void) {
    bool is_there = psci_start_second();
    while (is_there && cpu_count() < CPUS)
        cpu_pause();
}

void cpu_interrupt(const struct cpu *cpu) {
    gic_send(1u << cpu->id, GIC_CALL);
}

void cpu_send_nmi_to_self(void) {
    gic_send(1u << cpu_here()->id, GIC_NMI);
}

void cpu_acknowledge(const struct trap_frame *frame) {
    gic_end((uint32_t)frame->error);
}

void cpu_serialise(void) {
    __asm__ volatile("isb" : : : "memory");
}

void cpu_vectors_allow(void) {
    CPU_WRITE("cpacr_el1", CPU_READ("cpacr_el1") | CPACR_VECTORS);
    __asm__ volatile("isb" : : : "memory");
}

void cpu_vectors_forbid(void) {
    CPU_WRITE("cpacr_el1", CPU_READ("cpacr_el1") & ~(uint64_t)CPACR_VECTORS);
    __asm__ volatile("isb" : : : "memory");
}
