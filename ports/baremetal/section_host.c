/* SPDX-License-Identifier: MIT */
/*
 * Implements the host of sections in this kernel. docs/kernel.md describes what each function must
 * do.
 */
#include "base/section_host.h"

#include "kernel.h"
#include "vectors.h"

#include <carry/section.h>

static struct carry_section_cpu cpus[CPUS];

static struct carry_section_thread threads[CPUS];
static uint8_t areas[CPUS][VECTORS_AREA_BYTES] __attribute__((aligned(CARRY_XSTATE_ALIGN)));

void carry_host_preempt_off(void) {
    cpu_here()->preemption_off++;
}

void carry_host_preempt_on(void) {
    cpu_here()->preemption_off--;
}

bool carry_host_in_nmi(void) {
    return cpu_here()->in_nmi;
}

struct carry_section_cpu *carry_host_section_cpu(void) {
    return &cpus[cpu_here()->index];
}

void carry_host_vectors_allow(void) {
    cpu_vectors_allow();
}

/*
 * Defers loading of the thread's state. This kernel has no user mode at whose entry the state could
 * be loaded. Instead, once a lazy thread continues, its first vector instruction traps (#NM by
 * CR0.TS, CPACR_EL1.FPEN), and the handler loads the state.
 */
bool carry_host_section_defer(struct carry_section_thread *thread) {
    (void)thread;
    if (cpu_here()->is_lazy)
        cpu_here()->load_due = true;
    return cpu_here()->is_lazy;
}

bool section_is_open(void) {
    return cpus[cpu_here()->index].section;
}

void section_return(void) {
    struct cpu *cpu = cpu_here();
    if (cpu->load_due && !cpus[cpu->index].section)
        cpu_vectors_forbid();
}

static bool load_lazily(struct trap_frame *frame) {
    struct cpu *cpu = cpu_here();
    (void)frame;
    if (!cpu->load_due)
        return false;
    cpu->load_due = false;
    cpu_vectors_allow();
    return !carry_section_reload(cpu->thread);
}

void section_become_thread(void) {
    struct cpu *cpu = cpu_here();
    cpu->thread = &threads[cpu->index];
    carry_section_create(cpu->thread, areas[cpu->index], carry_xstate_default());
    if (carry_section_switch(cpu->thread))
        PANIC("a thread that is refused its vector registers");
    section_return();
}

void section_leave_thread(void) {
    struct cpu *cpu = cpu_here();
    carry_section_switch(NULL);
    carry_section_forget(cpu->thread);
    cpu->thread = NULL;
    cpu->load_due = false;
    cpu_vectors_allow();
}

void section_prepare(void) {
    trap_set(TRAP_NO_FPU, load_lazily);
}
