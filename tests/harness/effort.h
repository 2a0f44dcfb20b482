/* SPDX-License-Identifier: MIT */
/*
 * The levels of a test's work. CARRY_TEST_LEVEL selects one: `short` for emulators and valgrind,
 * `medium` (the default) for every change, `long` before a release. Below `long`, a loop repeats
 * only what the code under test treats differently; a comment beside the loop says what each
 * repetition adds.
 */
#ifndef CARRY_TESTS_EFFORT_H
#define CARRY_TESTS_EFFORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effort {
    const char *name;
    size_t dense_size;    /* every size below it is tried, and some above */
    size_t stride;        /* of loops over alignments: 1 tries all */
    size_t rounds;        /* of tests with random input */
    size_t few_rounds;    /* of tests with random input of few relevant kinds */
    bool all;             /* every combination, not only one of each kind and some at random */
    uint64_t largest_run; /* the most bytes summed in one call */
};

extern const struct effort effort_short;

/* Returns the chosen level. Ends the test with a TAP "Bail out!" if no level has that name. */
const struct effort *effort_chosen(void);

/* Prints the level and the seed, so that the test can be repeated. */
void effort_note(const struct effort *effort);

/*
 * Returns the number to try after `at`: the next one at level long, else a random one, `step`
 * further on average.
 */
size_t effort_next(const struct effort *effort, size_t at, size_t step);

/*
 * Returns whether copies of `size` bytes are tried between two offsets modulo 64. A kernel's
 * branches depend on the size, and on one of the two addresses or on their distance, modulo the
 * size of a vector. So at level medium, each size is tried with all targets from one source, and
 * with all sources to one target; these pairs cover all distances. The seed chooses the source and
 * the target. Over all sizes, each pair is tried.
 */
bool effort_takes_pair(const struct effort *effort, size_t size, size_t from, size_t to);

/*
 * Returns the size to try after `size`: the next size below dense_size, then a random one that is
 * larger by about an eighth at most.
 */
size_t effort_next_size(const struct effort *effort, size_t size);

#endif
