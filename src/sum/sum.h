/* SPDX-License-Identifier: MIT */
/* Inside of `sum`: the kernels' prototypes, and the steps that C kernels share. */
#ifndef CARRY_SUM_SUM_H
#define CARRY_SUM_SUM_H

#include <carry/sum.h>

#include "base/arch.h"

/* What a copy has done that survives faults. */
struct carry_sum_tried {
    size_t left;  /* the bytes from the first one on that could not be reached; all before it are
                     copied, it and those behind it are untouched */
    uint64_t sum; /* the partial sum; UINT64_MAX after a fault, even if nothing is left: bytes were
                     copied in other ways then */
};

static inline bool carry_sum_is_known(const struct carry_sum_tried *tried) {
    return !tried->left && tried->sum != UINT64_MAX;
}

typedef struct carry_sum_tried carry_sum_copy_try_fn(void *dst, const void *src, size_t size,
                                                     uint32_t sum);

/* Each kernel in its forms. */
#define CARRY_SUM_KERNEL(arch, name, ...)                                                          \
    CARRY_ROWS_##arch(carry_sum_fn carry_sum_##name; carry_sum_copy_fn carry_sum_copy_##name;      \
                      carry_sum_copy_try_fn carry_sum_copy_try_##name;)
#include "sum/kernels.def"
#undef CARRY_SUM_KERNEL

/*
 * carry_sum_copy() by that form of the chosen kernel that survives faults, if whoever handles them
 * keeps to base/fault.h. Where all kernels are in C, none does: nothing is copied, all is left.
 */
carry_sum_copy_try_fn carry_sum_copy_try_call;

/* 64 bits to 32, with the carry added back. */
static inline uint32_t carry_sum_fold64(uint64_t sum) {
    sum += sum << 32 | sum >> 32; /* as in carry_sum_fold() */
    return (uint32_t)(sum >> 32);
}

#endif
