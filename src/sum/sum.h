/* SPDX-License-Identifier: MIT */
/* Inside of `sum`: the kernels' prototypes, and the steps that C kernels share. */
#ifndef CARRY_SUM_SUM_H
#define CARRY_SUM_SUM_H

#include <carry/sum.h>

#include "base/arch.h"

#define CARRY_SUM_KERNEL(arch, name, ...) CARRY_ROWS_##arch(carry_sum_fn carry_sum_##name;)
#include "sum/kernels.def"
#undef CARRY_SUM_KERNEL

/* 64 bits to 32, with the carry added back. */
static inline uint32_t carry_sum_fold64(uint64_t sum) {
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (uint32_t)(sum + (sum >> 32));
}

#endif
