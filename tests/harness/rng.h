/* SPDX-License-Identifier: MIT */
/*
 * Pseudorandom numbers that can be repeated: CARRY_TEST_SEED=<number> sets the seed; every test
 * prints it. Each check restarts the sequence, so that its numbers do not depend on earlier checks.
 */
#ifndef CARRY_TESTS_RNG_H
#define CARRY_TESTS_RNG_H

#include <stddef.h>
#include <stdint.h>

#define RNG_DEFAULT_SEED 1071

/*
 * Returns the seed in use (seed.c). Ends the test with a TAP "Bail out!" if CARRY_TEST_SEED is not
 * a number.
 */
uint64_t rng_seed(void);

void rng_restart(void);
uint64_t rng_next(void);

/* Returns a number from 0 to limit - 1. */
size_t rng_below(size_t limit);

void rng_fill(void *data, size_t size);

#endif
