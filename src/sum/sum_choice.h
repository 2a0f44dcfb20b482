/* SPDX-License-Identifier: MIT */
/* The operations through which the chosen kernels of `sum` are called, and their tables. */
#ifndef CARRY_SUM_CHOICE_H
#define CARRY_SUM_CHOICE_H

#include <carry/sum.h>

#include "kernel/choice.h"

/* Operations that hold the chosen kernels, so that a program may patch the calls of the kernels. */
CARRY_OP(uint32_t, carry_sum, const void *, size_t, uint32_t);
CARRY_OP(uint32_t, carry_sum_copy, void *, const void *, size_t, uint32_t);
CARRY_HIDDEN extern struct carry_key carry_op_carry_sum_copy_try;
CARRY_OP(uint32_t, carry_crc32c, const void *, size_t, uint32_t);

/* The forms of the kernels of carry_sum(): see sum_internal.h. */
extern const struct carry_kernels carry_sum_kernels, carry_sum_copy_kernels,
    carry_sum_copy_try_kernels;

/* Describes the kernel with this index. Returns false if there is none. */
static inline bool carry_sum_describe(const struct carry_kernels *kernels, size_t index,
                                      struct carry_sum_kernel *kernel) {
    struct carry_kernel_state state;
    if (!carry_kernels_describe(kernels, index, &state))
        return false;
    *kernel = (struct carry_sum_kernel){
        .name = state.row->name,
        .sum = (carry_sum_fn *)state.row->run,
        .missing = state.missing,
        .vector_bits = state.row->vector_bits,
        .against = state.against,
        .chosen = state.chosen,
    };
    return true;
}

#endif
