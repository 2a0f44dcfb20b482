/* SPDX-License-Identifier: MIT */
/* What commits cost, by each way in which the system lets text be written. */
#ifndef CARRY_TOOLS_BENCH_PATCH_COMMIT_H
#define CARRY_TOOLS_BENCH_PATCH_COMMIT_H

#include "bench/patch_delay.h"
#include "bench/patch_text.h"
#include "common/measure.h"

/* What is committed: sites of one key or operation, back and forth. */
struct commit_work {
    const char *name;
    const char *title;
    struct patch_shape shape; /* no sites: as many as asked for */
    size_t rounds;
};

#define COMMIT_WORKS 3
extern const struct commit_work commit_works[COMMIT_WORKS];

/* As carry_patch_select() names them; a process of one thread needs no guard. */
struct commit_way {
    const char *guard;
    const char *backend;
};

#define COMMIT_WAYS 4
extern const struct commit_way commit_ways[COMMIT_WAYS];

/* How much to measure. */
struct commit_effort {
    size_t divisor; /* of the rounds */
    double seconds; /* at most, of each work in each way, on a busy machine */
};

struct commit_result {
    bool measured;
    bool ended_early; /* not all rounds were taken */
    char guard[8];
    struct bench_stats ns; /* a commit */
};

struct commit_results {
    struct commit_result of[COMMIT_WAYS][COMMIT_WORKS][2];         /* alone, and with a thread */
    struct commit_delay delays[COMMIT_WAYS][COMMIT_WORKS][DELAYS]; /* of another thread */
    struct bench_stats synchronisation[2]; /* of all cores: alone, and with a thread */
    bool failed;                           /* a process died */
};

/*
 * Measures in processes of their own, as one that committed once stays with what it found.
 * `elsewhere` is a text without sites. False, with errno, if there is no memory.
 */
bool commit_measure(struct commit_results *results, const struct patch_text *texts,
                    const struct patch_text *elsewhere, const struct commit_effort *effort);

/* Adds the commits, and the delays. */
void commit_add_noise(const struct commit_results *results, struct bench_noise *noise);

#endif
