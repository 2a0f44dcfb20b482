/* SPDX-License-Identifier: MIT */
/*
 * Times several subjects (functions that do the same work) in several cells (kinds of work) on a
 * machine that is not quiet.
 *
 * Each round takes one sample of every subject in every cell, one after the other. So a slow
 * moment hits neighbours alike, and a cell's samples lie spread over the whole run: medians of
 * times agree between runs, and ratios, taken within a round, agree better still.
 */
#ifndef CARRY_TOOLS_BENCH_MEASURE_H
#define CARRY_TOOLS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_plan {
    size_t cells;
    size_t subjects;
    size_t rounds;
    double sample_ns; /* each sample holds as many calls as fill this time */

    /*
     * Does calls number `first` to `first + calls - 1` of a subject in a cell; the number only
     * matters where calls differ from each other. Returns anything that depends on all of them.
     */
    uint32_t (*run)(const void *context, size_t cell, size_t subject, size_t first, size_t calls);

    /* Calls a sample of this cell has, the same for every subject; 0: as many as fill the time. */
    size_t (*fixed_calls)(const void *context, size_t cell);
    const void *context;

    /* Whether the clock of the CPU has to recover before each sample of a cell; NULL: nowhere. */
    bool (*settles)(const void *context, size_t cell);

    void (*progress)(size_t done, size_t total); /* called after each cell of each round */
};

/*
 * Nanoseconds a call, `rounds` samples for each subject of each cell; NULL when out of memory.
 * The caller frees it. bench_samples() finds the samples of one subject in one cell.
 */
double *bench_measure(const struct bench_plan *plan);

static inline const double *bench_samples(const struct bench_plan *plan, const double *all,
                                          size_t cell, size_t subject) {
    return all + (cell * plan->subjects + subject) * plan->rounds;
}

struct bench_stats {
    double median;
    double q1, q3; /* the quartiles */
    double min;
};

struct bench_stats bench_stats(const double *samples, size_t count);

/*
 * How often `base` fits into `samples`: the mean of the middle half of their quotients, round by
 * round. Quotients of a few cycles often have two heights, between which a median would jump.
 */
double bench_ratio(const double *samples, const double *base, size_t count);

/* The mean of the middle half of the differences, likewise. */
double bench_added(const double *samples, const double *base, size_t count);

#endif
