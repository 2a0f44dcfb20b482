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
    size_t rounds;    /* to take; then those that were taken */
    double sample_ns; /* each sample holds as many calls as fill this time */
    double seconds;   /* no round begins after them, except the first few; 0: all are taken */

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
 * Returns nanoseconds a call, `rounds` samples for each subject of each cell; NULL when out of
 * memory. The caller frees it. bench_samples() finds the samples of one subject in one cell.
 */
double *bench_measure(struct bench_plan *plan);

/* Rounds that a busy machine takes all the same. */
#define BENCH_FEWEST 5

static inline const double *bench_samples(const struct bench_plan *plan, const double *all,
                                          size_t cell, size_t subject) {
    return all + (cell * plan->subjects + subject) * plan->rounds;
}

struct bench_stats {
    double median;
    double q1, q3; /* the quartiles */
    double min;
    double low, high; /* the 95 % interval of the median, by the ranks of samples */
};

struct bench_stats bench_stats(const double *samples, size_t count);

/* Returns the same of a part, such as one of many sites. */
struct bench_stats bench_stats_part(struct bench_stats stats, double parts);

/*
 * How often `base` fits into `samples`: the mean of the middle half of their quotients, round by
 * round. Quotients of a few cycles often have two heights, between which a median would jump.
 */
double bench_ratio(const double *samples, const double *base, size_t count);

/*
 * Returns the mean of the middle half of the differences, likewise. No work takes less than none: a
 * difference below zero is noise, and 0 here.
 */
double bench_added(const double *samples, const double *base, size_t count);

/* --- What noise leaves of it --- */

#define BENCH_CYCLE_NS 0.3 /* a clock cycle, about: a time is never known better */

/* A count of times and of those that are uncertain: by more than a tenth, and the tolerance. */
struct bench_noise {
    size_t times, uncertain;
    double widest;    /* half of the widest interval, in its median */
    bool ended_early; /* not all rounds were taken */
};

/* Adds a time; up to `tolerance` nanoseconds, an uncertainty does not count. */
void bench_noise_add(struct bench_noise *noise, const struct bench_stats *stats, double tolerance);

/* Adds something else whose uncertainty, in parts of itself, is known. */
void bench_noise_add_share(struct bench_noise *noise, double uncertainty);

/* Adds all subjects in all cells of a plan that wanted `rounds`. */
void bench_noise_add_plan(struct bench_noise *noise, const struct bench_plan *plan, size_t rounds,
                          const double *samples);

/* Adds all that another one counted. */
void bench_noise_merge(struct bench_noise *noise, const struct bench_noise *other);

/* Returns whether so many times are uncertain that the machine is too noisy for all of it. */
bool bench_noise_is_much(const struct bench_noise *noise);

/*
 * Returns whether a difference tells nothing: its median cannot be told from 0, or is less certain
 * than it is large. Up to `tolerance` nanoseconds do not count.
 */
bool bench_is_lost(const struct bench_stats *difference, double tolerance);

#endif
