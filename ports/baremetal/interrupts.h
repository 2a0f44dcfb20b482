/* SPDX-License-Identifier: MIT */
/*
 * Interrupt flags as a table of operations, as kernels have them that run on the machine or under a
 * hypervisor: patched in they are the native instructions, else they go through the table.
 */
#ifndef BAREMETAL_INTERRUPTS_H
#define BAREMETAL_INTERRUPTS_H

#include "kernel.h"

#include <carry/patch.h>

CARRY_OP(void, interrupts_off);
CARRY_OP(void, interrupts_on);
CARRY_OP(uintptr_t, interrupts_save);
CARRY_OP(void, interrupts_restore, uintptr_t);

struct interrupts {
    carry_fn_interrupts_off *off;
    carry_fn_interrupts_on *on;
    carry_fn_interrupts_save *save;
    carry_fn_interrupts_restore *restore;
};

/* The second one is in use at first. */
extern const struct interrupts interrupts_native, interrupts_hypervisor;

/* Commits a table. Returns as carry_patch_commit(). */
int interrupts_use(const struct interrupts *table);

/* One call of an operation and a return each: in test_interrupts.c. */
void site_off(void);
void site_on(void);
uintptr_t site_save(void);
void site_restore(uintptr_t flags);

/* What the hypervisor keeps for each CPU: its flag, and how often it was called. */
extern struct hypervisor {
    uintptr_t flags;
    uint64_t calls;
} hypervisor[CPUS];

#endif
