/* SPDX-License-Identifier: MIT */
/* Tables of kernels, and the choice of one of their rows, which an operation holds. */
#ifndef CARRY_KERNEL_CHOICE_H
#define CARRY_KERNEL_CHOICE_H

#include <carry/kernel.h>
#include <carry/patch.h>

#include "cpu/cpu.h"

/* As the rows of a table spell what they need. */
#define NOTHING  0
#define ON(name) CARRY_CPU_BIT(name)

struct carry_kernel_row {
    const char *name;
    uintptr_t run;  /* its function */
    uint32_t needs; /* features without which it does not run */
    uint32_t wants; /* preferences without which it is chosen by name alone */
    unsigned vector_bits;
};

struct carry_kernels {
    const char *form; /* the functions are carry_<form>_<name of the row> */
    const struct carry_kernel_row
        *rows; /* from the most portable, which needs nothing, to the best */
    size_t count;
    struct carry_key *chosen; /* the operation that holds the choice, at first `undecided` */
    uintptr_t undecided;
    const struct carry_kernels *other; /* form of the same kernels, in a ring of forms; or NULL */
};

/* A row as it counts here and now; the public structures of the modules have the same members. */
struct carry_kernel_state {
    const struct carry_kernel_row *row;
    const char *missing; /* the first feature it lacks here, or NULL */
    const char *against; /* the first preference that it wants and this CPU lacks, or NULL */
    bool chosen;
};

/* The best kernel by the present features, which becomes the choice, in its other forms too. */
uintptr_t carry_kernels_choose(const struct carry_kernels *kernels);

static inline uintptr_t carry_kernels_in_use(const struct carry_kernels *kernels) {
    uintptr_t run = __atomic_load_n(&kernels->chosen->value, __ATOMIC_RELAXED);
    return run != kernels->undecided ? run : carry_kernels_choose(kernels);
}

/* What carry_sum_select(), carry_sum_kernel() and those after it do, for any table. */
int carry_kernels_select(const struct carry_kernels *kernels, const char *name);
bool carry_kernels_describe(const struct carry_kernels *kernels, size_t index,
                            struct carry_kernel_state *state);
const char *carry_kernels_need(const struct carry_kernels *kernels, size_t index, size_t need);
bool carry_kernels_code(const struct carry_kernels *kernels, size_t index,
                        struct carry_kernel_code *code);

#endif
