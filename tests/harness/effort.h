/* SPDX-License-Identifier: MIT */
/*
 * How much a test does. CARRY_TEST_LEVEL chooses: `short` for emulators and valgrind, `medium`
 * (the default) for every change, `long` before a release. Below `long`, a loop repeats only what
 * the code under test can tell apart; a comment beside the loop says what each repetition adds.
 */
#ifndef CARRY_TESTS_EFFORT_H
#define CARRY_TESTS_EFFORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effort {
    const char *name;
    size_t dense_size;    /* below it every size is tried, above it some */
    size_t stride;        /* of loops over alignments: 1 for all */
    size_t rounds;        /* of tests on random input */
    size_t few_rounds;    /* the same, if few kinds of input take different ways */
    bool all;             /* every combination, not only one of each kind and some at random */
    uint64_t largest_run; /* bytes summed in one call, at most */
};

extern const struct effort effort_short;

/* The chosen level. Ends the test with a TAP "Bail out!" if there is none of that name. */
const struct effort *effort_chosen(void);

/* Prints level and seed, for those who want to run it again. */
void effort_note(const struct effort *effort);

/* The number to try after `at`: the next one at level long, else one that is `step` on average
 * behind it, at random. */
size_t effort_next(const struct effort *effort, size_t at, size_t step);

/*
 * Whether copies of `size` bytes are to be tried between two offsets modulo 64. A kernel's way
 * depends on the size, and on one of both addresses, or on their distance, modulo a vector. So
 * below level long each size meets all targets from one source, and all sources with one target,
 * which the seed chooses: either line has all distances. Over all sizes each pair has its turn.
 */
bool effort_takes_pair(const struct effort *effort, size_t size, size_t from, size_t to);

/* The size to try after `size`: the next one below dense_size, then steps of up to an eighth. */
size_t effort_next_size(const struct effort *effort, size_t size);

#endif
