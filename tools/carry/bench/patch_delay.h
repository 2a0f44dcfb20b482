/* SPDX-License-Identifier: MIT */
/* How long a commit keeps another thread from its work. */
#ifndef CARRY_TOOLS_BENCH_PATCH_DELAY_H
#define CARRY_TOOLS_BENCH_PATCH_DELAY_H

#include <pthread.h>

#include "bench/patch_text.h"
#include "common/measure.h"

/* Rounds to take, and seconds after which fewer are enough. */
struct commit_limit {
    size_t rounds;
    double seconds;
};

/* Whether a round is to be taken, of so many that were, since a moment of clock_ns(). */
bool commit_goes_on(const struct commit_limit *limit, size_t taken, int64_t since);

/* What the other thread runs. */
enum { DELAY_OF_SITES, DELAY_ELSEWHERE, DELAYS };

/* Nanoseconds that a commit adds to the longest hold-up of the other thread, and to all of them. */
struct commit_delay {
    bool measured;
    bool ended_early; /* not all rounds were taken */
    struct bench_stats longest;
    struct bench_stats total;
};

/*
 * Commits the sites of `committed` while a thread runs `run`, which may be the same text, until the
 * time is up. `bind` puts the two threads in their places: 0 is that of this thread.
 */
void commit_delay_measure(struct commit_delay *delay, const struct patch_text *committed,
                          const struct patch_text *run, const struct commit_limit *limit,
                          void (*bind)(pthread_t thread, int place));

/* Returns what numbers with a commit have above the median of those without one. */
struct bench_stats commit_excess(const double *with, const double *without, size_t count);

/* Returns whether noise left nothing of a delay, or of a part of one. */
bool commit_delay_is_lost(const struct bench_stats *delay);

#endif
