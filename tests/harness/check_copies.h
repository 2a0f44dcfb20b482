/* SPDX-License-Identifier: MIT */
/*
 * The checks that every kernel of carry_copy() has to pass, and its twin that survives faults. As
 * those of check_sum.h they print nothing and return what they found.
 */
#ifndef CARRY_TESTS_CHECK_COPIES_H
#define CARRY_TESTS_CHECK_COPIES_H

#include <stddef.h>

#include <carry/copy.h>

#include "harness/effort.h"
#include "harness/verdict.h"

/* One of both: the second returns the bytes left. */
struct copier {
    carry_copy_fn *copy;
    size_t (*attempt)(void *dst, const void *src, size_t size);
};

typedef struct verdict copies_check(struct copier copier, const struct effort *effort);

/* Every size from 0 to 1,024 at all 64 alignments of either side, at level long at all 64 x 64: the
 * bytes are right, those around as they were, and an attempt says that none is left. */
copies_check check_copies_values;

/* Sizes sampled up to some MiB, the thresholds among them. */
copies_check check_copies_sampled;

/* No byte outside is touched: forbidden pages lie behind both ranges, then before them. */
copies_check check_copies_edges;

/* The calling convention is kept: see call.h. */
copies_check check_copies_abi;

/* All of them, with a test point each. */
void copies_check_all(struct copier copier, const struct effort *effort, const char *name);

/* For moves: the same bytes, whatever the distance of the ranges, to lower and higher addresses;
 * and forbidden pages on both sides of the two. */
copies_check check_copies_overlaps;
copies_check check_copies_overlap_edges;

/*
 * For attempts, with pages that fault at every byte of the source or the target, of both, and
 * between others, and in runs above 4 GiB: the bytes left, those before it right, those behind it
 * as they were, and one signal for each page that faults.
 */
copies_check check_copies_faults;

/*
 * For attempts, of which a page is taken away, or given back, before each of their instructions in
 * turn: the bytes that they say are copied are, and those behind them are as they were.
 */
copies_check check_copies_races;

#endif
