/* SPDX-License-Identifier: MIT */
/* Measures how long a commit holds up another thread. */
#ifndef CARRY_TOOLS_BENCH_PATCH_DELAY_H
#define CARRY_TOOLS_BENCH_PATCH_DELAY_H

#include <pthread.h>

#include "bench/patch_text.h"
#include "common/measure.h"

/* The rounds to take, and the seconds after which fewer rounds are enough. */
struct commit_limit {
    size_t rounds;
    double seconds;
};

/* Returns whether to take another round after `taken` rounds since `since` (clock_ns()). */
bool commit_goes_on(const struct commit_limit *limit, size_t taken, int64_t since);

/* The code that the other thread runs: the sites that change, or other code. */
enum { DELAY_OF_SITES, DELAY_ELSEWHERE, DELAYS };

/* Nanoseconds that a commit adds to the longest delay of another thread, and to all its delays. */
struct commit_delay {
    bool measured;
    bool ended_early; /* not all rounds were taken */
    struct bench_stats longest;
    struct bench_stats total;
};

/*
 * Commits the sites of `committed`, within `limit`, while a thread runs `run`. The texts may be
 * the same. `bind` binds this thread to place 0 and the other thread to place 1.
 */
void commit_delay_measure(struct commit_delay *delay, const struct patch_text *committed,
                          const struct patch_text *run, const struct commit_limit *limit,
                          void (*bind)(pthread_t thread, int place));

/* Returns the excess of numbers with a commit over the median of numbers without one. */
struct bench_stats commit_excess(const double *with, const double *without, size_t count);

/* Returns whether noise hides a delay. */
bool commit_delay_is_lost(const struct bench_stats *delay);

#endif
