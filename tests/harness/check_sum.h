/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_sum() and carry_crc32c() must pass. They judge by the
 * oracle of its kind and by traps, print nothing and return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_SUM_H
#define CARRY_TESTS_CHECK_SUM_H

#include <carry/sum.h>

#include "harness/effort.h"
#include "harness/oracle.h"
#include "harness/verdict.h"

typedef struct verdict sum_check(const struct oracle_kind *oracle, carry_sum_fn *sum,
                                 const struct effort *effort);

/* Checks sizes 0 to 4,096 at 64 offsets, six seeds, on random data, zeros and ones. */
sum_check check_values;

/* Checks sizes 0 to 4,096 on every pattern at a few offsets: data that causes carries. */
sum_check check_carries;

/* Checks sizes sampled up to 1 MiB, on every pattern. */
sum_check check_sampled;

/* Checks sizes at which accumulators overflow: 80 MiB, 4 GiB at level long. */
sum_check check_large;

/* Checks that no byte outside the run is read: a forbidden page is after it, then before it. */
sum_check check_edges;

/* Checks that the calling convention is followed: see call.h. */
sum_check check_abi;

/* Runs all checks, with a test point each. */
void sum_check_all(const struct oracle_kind *oracle, carry_sum_fn *sum, const struct effort *effort,
                   const char *name);

#endif
