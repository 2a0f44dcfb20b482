/* SPDX-License-Identifier: MIT */
/*
 * How much a test does. CARRY_TEST_LEVEL chooses: `short` for emulators and valgrind, `medium`
 * (the default) for every change, `long` before a release.
 */
#ifndef CARRY_TESTS_EFFORT_H
#define CARRY_TESTS_EFFORT_H

#include <stddef.h>
#include <stdint.h>

struct effort {
    const char *name;
    size_t dense_size;    /* below it every size is tried, above it some */
    size_t stride;        /* of loops over alignments: 1 for all */
    size_t rounds;        /* of tests on random input */
    uint64_t largest_run; /* bytes summed in one call, at most */
};

extern const struct effort effort_short;

/* The chosen level. Ends the test with a TAP "Bail out!" if there is none of that name. */
const struct effort *effort_chosen(void);

/* Prints level and seed, for those who want to run it again. */
void effort_note(const struct effort *effort);

/* The size to try after `size`: the next one below dense_size, then steps of up to an eighth. */
size_t effort_next_size(const struct effort *effort, size_t size);

#endif
