/* SPDX-License-Identifier: MIT */
/* The prototypes of the kernels of carry_sum(), and the steps that C kernels share. */
#ifndef CARRY_SUM_SUM_H
#define CARRY_SUM_SUM_H

#include <carry/sum.h>

#include "base/arch.h"

/* The result of a copy that survives faults. */
struct carry_sum_tried {
    size_t left;  /* bytes from the first inaccessible one to the end: they are untouched, and all
                     bytes before them are copied */
    uint64_t sum; /* the partial sum; UINT64_MAX after any fault, even if the recovery copied the
                     rest, because the recovery sums nothing */
};

static inline bool carry_sum_is_known(const struct carry_sum_tried *tried) {
    return !tried->left && tried->sum != UINT64_MAX;
}

typedef struct carry_sum_tried carry_sum_copy_try_fn(void *dst, const void *src, size_t size,
                                                     uint32_t sum);

/* Declares the forms of each kernel. */
#define CARRY_SUM_KERNEL(arch, name, ...)                                                          \
    CARRY_ROWS_##arch(carry_sum_fn carry_sum_##name; carry_sum_copy_fn carry_sum_copy_##name;      \
                      carry_sum_copy_try_fn carry_sum_copy_try_##name;)
#include "sum/kernels.def"
#undef CARRY_SUM_KERNEL

/*
 * Calls the form of the chosen kernel of carry_sum_copy() that survives faults. The fault handler
 * must follow base/fault_asm.h. Kernels in C cannot survive faults: they copy nothing, and return
 * that all bytes are left.
 */
carry_sum_copy_try_fn carry_sum_copy_try_call;

/* Folds 64 bits to 32, with end-around carry. */
static inline uint32_t carry_sum_fold64(uint64_t sum) {
    sum += sum << 32 | sum >> 32; /* as in carry_sum_fold() */
    return (uint32_t)(sum >> 32);
}

#endif
