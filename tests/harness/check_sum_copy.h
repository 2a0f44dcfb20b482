/* SPDX-License-Identifier: MIT */
/*
 * Checks of copies that compute the sum of the copied bytes. Like the checks of check_sum.h, they
 * compare sums with an oracle, detect accesses outside the ranges by faults, and return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_SUM_COPY_H
#define CARRY_TESTS_CHECK_SUM_COPY_H

#include <carry/sum.h>

#include "harness/effort.h"
#include "harness/verdict.h"

typedef struct verdict sum_copy_check(carry_sum_copy_fn *copy, const struct effort *effort);

/*
 * Checks sizes 0 to 1,024 at all 64 alignments of either side (at level long, at all 4,096 pairs):
 * copies are exact, no other byte is written, and the sum is right.
 */
sum_copy_check check_sum_copy_alignments;

/*
 * Checks sizes up to 4,096 on every pattern, and some up to 3 MiB, with data that cause carries: no
 * carry may be lost.
 */
sum_copy_check check_sum_copy_patterns;

/*
 * Checks that nothing outside the source is read, and nothing outside the target is written.
 * Both lie between forbidden pages.
 */
sum_copy_check check_sum_copy_edges;

/* Checks a run in chunks of any size, joined by carry_sum_combine(). */
sum_copy_check check_sum_copy_chunks;

/* Checks that the calling convention is followed: see call.h. */
sum_copy_check check_sum_copy_abi;

/* Runs all checks, with a test point each. */
void sum_copy_check_all(carry_sum_copy_fn *copy, const struct effort *effort, const char *name);

typedef size_t sum_copy_iov_fn(const struct carry_slice *dst, size_t dst_count,
                               const struct carry_slice *src, size_t src_count, uint32_t *sum);

/* Checks random slices on both sides, including empty and odd ones; either side may be longer. */
struct verdict check_sum_copy_iov(sum_copy_iov_fn *copy, const struct effort *effort);

/*
 * A copy that survives faults: returns the bytes left, and updates *sum if none is left. On entry
 * *sum is the seed.
 */
typedef size_t sum_copy_try_fn(void *dst, const void *src, size_t size, uint32_t *sum);

/*
 * Tries a forbidden page at every byte of the source and of the target for sizes up to 256 (at
 * level long, up to 1,024), and at some bytes of larger sizes, where faults can be handled. The
 * bytes before the first unreachable byte must be copied, later bytes must be unchanged, and the
 * number of bytes left must be returned.
 */
struct verdict check_sum_copy_try(sum_copy_try_fn *copy, const struct effort *effort);

#endif
