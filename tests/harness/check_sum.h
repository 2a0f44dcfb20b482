/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_sum() and carry_crc32c() must pass. They compare results
 * with an oracle's, detect accesses outside the run by faults, print nothing and return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_SUM_H
#define CARRY_TESTS_CHECK_SUM_H

#include <carry/sum.h>

#include "harness/effort.h"
#include "harness/oracle.h"
#include "harness/verdict.h"

typedef struct verdict sum_check(const struct oracle_kind *oracle, carry_sum_fn *sum,
                                 const struct effort *effort);

/* Checks sizes 0 to 4,096 at 64 offsets, on random data, zeros and ones, with six seeds; below
 * level long with two of them. */
sum_check check_values;

/* Checks sizes 0 to 4,096 on every pattern at a few offsets. Most patterns cause carries. */
sum_check check_carries;

/* Checks sizes sampled up to 1 MiB, on every pattern. */
sum_check check_sampled;

/* Checks sizes at which accumulators overflow: from 2 MiB to 16 MiB (level short), 80 MiB (medium)
 * or 4 GiB (long). */
sum_check check_large;

/* Checks that no byte outside the run is read: a forbidden page is after it, then before it. */
sum_check check_edges;

/* Checks that the calling convention is followed: see call.h. */
sum_check check_abi;

/* Runs all checks, with a test point each. */
void sum_check_all(const struct oracle_kind *oracle, carry_sum_fn *sum, const struct effort *effort,
                   const char *name);

#endif
