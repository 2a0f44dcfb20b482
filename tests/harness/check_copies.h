/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_copy(), and its form that survives faults, must pass. Like
 * the checks of check_sum.h, they print nothing and return a verdict.
 */
#ifndef CARRY_TESTS_CHECK_COPIES_H
#define CARRY_TESTS_CHECK_COPIES_H

#include <stddef.h>

#include <carry/copy.h>

#include "harness/effort.h"
#include "harness/verdict.h"

/* One of the two pointers is set; `attempt` returns the number of bytes left. */
struct copier {
    carry_copy_fn *copy;
    size_t (*attempt)(void *dst, const void *src, size_t size);
};

typedef struct verdict copies_check(struct copier copier, const struct effort *effort);

/*
 * Checks every size from 0 to 1,024 at all 64 alignments of either side (at level long, at all
 * 4,096 pairs). The copied bytes must be right, the bytes around them unchanged, and an attempt
 * must report that no byte is left.
 */
copies_check check_copies_values;

/* Checks sampled sizes up to some MiB, including the thresholds of kernels. */
copies_check check_copies_sampled;

/*
 * Checks that no byte outside the ranges is accessed: forbidden pages are after both ranges, then
 * before them.
 */
copies_check check_copies_edges;

/* Checks that the calling convention is followed: see call.h. */
copies_check check_copies_abi;

/* Runs the checks above, with a test point each. */
void copies_check_all(struct copier copier, const struct effort *effort, const char *name);

/*
 * Checks moves to lower and higher addresses, for any distance between the ranges; the second
 * check has forbidden pages on both sides of the ranges.
 */
copies_check check_copies_overlaps;
copies_check check_copies_overlap_edges;

/*
 * Checks attempts with faulting pages: at every byte of the source, of the target and of both,
 * between accessible pages, and in runs above 4 GiB. The number of bytes left must be right, and so
 * must the bytes before and after the fault. A faulting page may raise only one signal, or two if
 * the handler does not report the page.
 */
copies_check check_copies_faults;

/*
 * Checks attempts whose last pages are removed before one of their instructions, for a sample of
 * the instructions. The handler may make pages accessible again. The bytes reported as copied must
 * be copied, and the bytes after them unchanged.
 */
copies_check check_copies_races;

#endif
