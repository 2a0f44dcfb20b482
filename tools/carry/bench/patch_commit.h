/* SPDX-License-Identifier: MIT */
/* Measures commits with each back end and guard. */
#ifndef CARRY_TOOLS_BENCH_PATCH_COMMIT_H
#define CARRY_TOOLS_BENCH_PATCH_COMMIT_H

#include "bench/patch_delay.h"
#include "bench/patch_text.h"
#include "common/measure.h"

/* The sites that a commit changes, back and forth. */
struct commit_work {
    const char *name;
    const char *title;
    struct patch_shape shape; /* if `sites` is 0, the user chooses the number */
    size_t rounds;
};

#define COMMIT_WORKS 3
extern const struct commit_work commit_works[COMMIT_WORKS];

/* Names for carry_patch_select(). A process of one thread uses no guard. */
struct commit_way {
    const char *guard;
    const char *backend;
};

#define COMMIT_WAYS 4
extern const struct commit_way commit_ways[COMMIT_WAYS];

/* The amount to measure. */
struct commit_effort {
    size_t divisor; /* divides the number of rounds */
    double seconds; /* the most on a busy machine, for each work in each way */
};

struct commit_result {
    bool measured;
    bool ended_early; /* not all rounds were taken */
    char guard[8];
    struct bench_stats ns; /* of a commit */
};

struct commit_results {
    struct commit_result of[COMMIT_WAYS][COMMIT_WORKS][2];         /* alone, and with a thread */
    struct commit_delay delays[COMMIT_WAYS][COMMIT_WORKS][DELAYS]; /* of another thread */
    struct bench_stats synchronisation[2]; /* of all cores: without a thread, and with one */
    bool failed;                           /* a process died */
};

/* Measures each way in a new process, since a process keeps the back end of its first commit.
 * `elsewhere` has nothing to patch. Returns false with errno set if there is no memory. */
bool commit_measure(struct commit_results *results, const struct patch_text *texts,
                    const struct patch_text *elsewhere, const struct commit_effort *effort);

/* Adds the noise of commits and delays. */
void commit_add_noise(const struct commit_results *results, struct bench_noise *noise);

#endif
