/* SPDX-License-Identifier: MIT */
/* Tables of kernels, and the choice of a row. The chosen row is the value of an operation. */
#ifndef CARRY_KERNEL_CHOICE_H
#define CARRY_KERNEL_CHOICE_H

#include <carry/kernel.h>
#include <carry/patch.h>

#include "cpu/cpu_internal.h"

/* The features that a row of the tables needs or prefers. */
#define NOTHING  0
#define ON(name) CARRY_CPU_BIT(name)

struct carry_kernel_row {
    const char *name;
    uintptr_t run;  /* its function */
    uint32_t needs; /* features that it requires */
    uint32_t wants; /* preferences; if the CPU lacks one, the kernel is chosen only by name */
    unsigned vector_bits;
};

struct carry_kernels {
    const char *form; /* the functions are carry_<form>_<name of the row> */
    const struct carry_kernel_row
        *rows; /* from the most portable one, which needs nothing, to the best */
    size_t count;
    struct carry_key *chosen; /* the operation whose value is the choice; at first `undecided` */
    uintptr_t undecided;
    const struct carry_kernels *other; /* the next form of the same kernels, in a ring; or NULL */
};

/* The present state of a row. The public structures of the modules have the same members. */
struct carry_kernel_state {
    const struct carry_kernel_row *row;
    const char *missing; /* the first needed feature that is missing here, or NULL */
    const char *against; /* the first wanted preference that does not hold here, or NULL */
    bool chosen;
};

/* Chooses the best kernel for the present features, in all forms that are still undecided. Returns
 * the chosen kernel of the form `kernels`. */
uintptr_t carry_kernels_choose(const struct carry_kernels *kernels);

static inline uintptr_t carry_kernels_in_use(const struct carry_kernels *kernels) {
    uintptr_t run = __atomic_load_n(&kernels->chosen->value, __ATOMIC_RELAXED);
    return run != kernels->undecided ? run : carry_kernels_choose(kernels);
}

/* Do for any table what carry_sum_select(), carry_sum_kernel() and similar functions do for
 * sums. */
int carry_kernels_select(const struct carry_kernels *kernels, const char *name);
bool carry_kernels_describe(const struct carry_kernels *kernels, size_t index,
                            struct carry_kernel_state *state);
const char *carry_kernels_need(const struct carry_kernels *kernels, size_t index, size_t need);
bool carry_kernels_code(const struct carry_kernels *kernels, size_t index,
                        struct carry_kernel_code *code);

#endif
