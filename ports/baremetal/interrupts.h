/* SPDX-License-Identifier: MIT */
/*
 * The operations on interrupt flags as a table, as in kernels that run on a machine or under a
 * hypervisor. A patched site holds the native instruction, or calls a function of the table
 * directly; a site that is not patched calls it through a pointer.
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

/* The two tables; initially, interrupts_hypervisor is in use. */
extern const struct interrupts interrupts_native, interrupts_hypervisor;

/* Commits a table. Returns the result of carry_patch_commit(). */
int interrupts_use(const struct interrupts *table);

/* Call one operation each; test_interrupts.c defines them. */
void site_off(void);
void site_on(void);
uintptr_t site_save(void);
void site_restore(uintptr_t flags);

/* The hypervisor's state for each CPU: the interrupt flag, and the number of calls. */
extern struct hypervisor {
    uintptr_t flags;
    uint64_t calls;
} hypervisor[CPUS];

#endif
