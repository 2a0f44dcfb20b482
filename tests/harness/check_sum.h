/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_sum() has to pass. They judge by the oracle and by traps,
 * print nothing and return what they found.
 */
#ifndef CARRY_TESTS_CHECK_SUM_H
#define CARRY_TESTS_CHECK_SUM_H

#include <carry/sum.h>

#include "harness/effort.h"
#include "harness/verdict.h"

typedef struct verdict sum_check(carry_sum_fn *sum, const struct effort *effort);

/* Sizes 0 to 4,096 at 64 offsets, six seeds, on random data, zeros and ones. */
sum_check check_values;

/* Sizes 0 to 4,096 on every pattern at a few offsets: what makes carries. */
sum_check check_carries;

/* Sizes sampled up to 1 MiB, on every pattern. */
sum_check check_sampled;

/* Sizes at which accumulators overflow: 80 MiB, 4 GiB at level long. */
sum_check check_large;

/* No byte outside the run is read: a forbidden page lies after it, then one before it. */
sum_check check_edges;

/* The calling convention is kept: see call.h. */
sum_check check_abi;

struct sum_check_row {
    const char *name;
    sum_check *check;
};

/* All of them; the last has no name. */
extern const struct sum_check_row sum_checks[];

#endif
