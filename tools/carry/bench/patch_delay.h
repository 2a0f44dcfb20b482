/* SPDX-License-Identifier: MIT */
/* How long a commit keeps another thread from its work. */
#ifndef CARRY_TOOLS_BENCH_PATCH_DELAY_H
#define CARRY_TOOLS_BENCH_PATCH_DELAY_H

#include <pthread.h>

#include "bench/patch_text.h"
#include "common/measure.h"

/* What the other thread runs. */
enum { DELAY_OF_SITES, DELAY_ELSEWHERE, DELAYS };

/* Nanoseconds that a commit adds to the longest hold-up of the other thread, and to all of them. */
struct commit_delay {
    bool measured;
    struct bench_stats longest;
    struct bench_stats total;
};

/*
 * Commits the sites of `committed` while a thread runs `run`, which may be the same text. `bind`
 * puts the two threads in their places: 0 is that of this thread.
 */
void commit_delay_measure(struct commit_delay *delay, const struct patch_text *committed,
                          const struct patch_text *run, size_t rounds,
                          void (*bind)(pthread_t thread, int place));

#endif
