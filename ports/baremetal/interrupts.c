/* SPDX-License-Identifier: MIT */
#include "interrupts.h"

/* --- Under a hypervisor --- */

struct hypervisor hypervisor[CPUS];

static struct hypervisor *call_hypervisor(void) {
    struct hypervisor *here = &hypervisor[cpu_here()->index];
    here->calls++;
    return here;
}

static void hypervisor_off(void) {
    call_hypervisor()->flags = CPU_OFF;
}

static void hypervisor_on(void) {
    call_hypervisor()->flags = CPU_ON;
}

static uintptr_t hypervisor_save(void) {
    return call_hypervisor()->flags;
}

static void hypervisor_restore(uintptr_t flags) {
    call_hypervisor()->flags = flags;
}

const struct interrupts interrupts_hypervisor = {hypervisor_off, hypervisor_on, hypervisor_save,
                                                 hypervisor_restore};

/* --- The table in use --- */

CARRY_OP_DEFINE(interrupts_off, hypervisor_off);
CARRY_OP_DEFINE(interrupts_on, hypervisor_on);
CARRY_OP_DEFINE(interrupts_save, hypervisor_save);
CARRY_OP_DEFINE(interrupts_restore, hypervisor_restore);

int interrupts_use(const struct interrupts *table) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, interrupts_off, table->off);
    carry_set(&patch, interrupts_on, table->on);
    carry_set(&patch, interrupts_save, table->save);
    carry_set(&patch, interrupts_restore, table->restore);
    return carry_patch_commit(&patch);
}
