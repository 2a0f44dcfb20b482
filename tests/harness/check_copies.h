/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_copy(), and its form that survives faults, must pass. Like
 * those of check_sum.h, they print nothing and return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_COPIES_H
#define CARRY_TESTS_CHECK_COPIES_H

#include <stddef.h>

#include <carry/copy.h>

#include "harness/effort.h"
#include "harness/verdict.h"

/* One of the two is set; `attempt` returns the bytes left. */
struct copier {
    carry_copy_fn *copy;
    size_t (*attempt)(void *dst, const void *src, size_t size);
};

typedef struct verdict copies_check(struct copier copier, const struct effort *effort);

/*
 * Checks every size from 0 to 1,024 at all 64 alignments of either side, at level long at all
 * 64 x 64: the copied bytes are right, the bytes around them unchanged, and an attempt reports no
 * byte left.
 */
copies_check check_copies_values;

/* Checks sampled sizes up to some MiB, including the thresholds. */
copies_check check_copies_sampled;

/* Checks that no byte outside is accessed: forbidden pages are after both ranges, then before. */
copies_check check_copies_edges;

/* Checks that the calling convention is followed: see call.h. */
copies_check check_copies_abi;

/* Runs all checks, with a test point each. */
void copies_check_all(struct copier copier, const struct effort *effort, const char *name);

/*
 * Checks moves to lower and higher addresses, for any distance between the ranges; the second
 * check has forbidden pages on both sides of the ranges.
 */
copies_check check_copies_overlaps;
copies_check check_copies_overlap_edges;

/*
 * Checks attempts with pages that fault at every byte of the source, of the target and of both,
 * between other pages, and in runs above 4 GiB: the number of bytes left, the bytes before and
 * after the fault, and that each faulting page raises one signal.
 */
copies_check check_copies_faults;

/*
 * Checks attempts with a page that is removed or returned before each of their instructions in
 * turn: the bytes reported as copied are copied, and the bytes after them are unchanged.
 */
copies_check check_copies_races;

#endif
