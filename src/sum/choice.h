/* SPDX-License-Identifier: MIT */
/* Inside of `sum`: tables of kernels, and the choice of one of their rows. */
#ifndef CARRY_SUM_CHOICE_H
#define CARRY_SUM_CHOICE_H

#include <carry/patch.h>
#include <carry/sum.h>

#include "cpu/cpu.h"

/* What holds the choices, so that a program may have the calls of the kernels patched. */
CARRY_OP(uint32_t, carry_sum, const void *, size_t, uint32_t);
CARRY_OP(uint32_t, carry_crc32c, const void *, size_t, uint32_t);

/* As the rows of a table spell what they need. */
#define NOTHING  0
#define ON(name) CARRY_CPU_BIT(name)

struct carry_kernel_row {
    const char *name;
    carry_sum_fn *run;
    uint32_t needs;
    unsigned vector_bits;
};

struct carry_kernels {
    const struct carry_kernel_row
        *rows; /* from the most portable, which needs nothing, to the best */
    size_t count;
    struct carry_key *chosen; /* the operation that holds the choice, at first `undecided` */
    carry_sum_fn *undecided;
};

/* The best kernel by the present features, which becomes the choice. */
carry_sum_fn *carry_kernels_choose(const struct carry_kernels *kernels);

static inline carry_sum_fn *carry_kernels_in_use(const struct carry_kernels *kernels) {
    carry_sum_fn *run = (carry_sum_fn *)__atomic_load_n(&kernels->chosen->value, __ATOMIC_RELAXED);
    return run != kernels->undecided ? run : carry_kernels_choose(kernels);
}

/* What carry_sum_select(), carry_sum_kernel() and carry_sum_kernel_need() do, for any table. */
int carry_kernels_select(const struct carry_kernels *kernels, const char *name);
bool carry_kernels_describe(const struct carry_kernels *kernels, size_t index,
                            struct carry_sum_kernel *kernel);
const char *carry_kernels_need(const struct carry_kernels *kernels, size_t index, size_t need);

#endif
