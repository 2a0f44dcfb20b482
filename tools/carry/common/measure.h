/* SPDX-License-Identifier: MIT */
/*
 * Times several subjects (functions that do the same work) in several cells (kinds of work) on a
 * machine that is not quiet.
 *
 * Each round takes one sample of every subject in every cell, one after the other. So a slow moment
 * affects all neighbours, and a cell's samples are spread over the whole run: medians of times
 * agree between runs, and ratios, which are computed within a round, agree even better.
 */
#ifndef CARRY_TOOLS_BENCH_MEASURE_H
#define CARRY_TOOLS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_plan {
    size_t cells;
    size_t subjects;
    size_t rounds;    /* the number requested; afterwards, the number taken */
    double sample_ns; /* a sample has as many calls as fill this time */
    double seconds;   /* no round begins after this time, except the first few; 0: no limit */

    /*
     * Does the calls from number `first` to `first + calls - 1` of a subject in a cell; the number
     * matters only if calls differ. Returns a value that depends on all of them.
     */
    uint32_t (*run)(const void *context, size_t cell, size_t subject, size_t first, size_t calls);

    /* Returns how many calls a sample of this cell has, for every subject; 0: as many as fill
       `sample_ns`. */
    size_t (*fixed_calls)(const void *context, size_t cell);
    const void *context;

    /* Checks whether the CPU's clock must recover before each sample of a cell; NULL: never. */
    bool (*settles)(const void *context, size_t cell);

    void (*progress)(size_t done, size_t total); /* called after each cell of each round */
};

/*
 * Returns nanoseconds per call, `rounds` samples for each subject of each cell; NULL if there is no
 * memory. The caller frees it. bench_samples() finds the samples of one subject in one cell.
 */
double *bench_measure(struct bench_plan *plan);

/* The fewest rounds, even on a busy machine. */
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

/* Divides the statistics of `parts` sites or units by their number; returns those of one. */
struct bench_stats bench_stats_part(struct bench_stats stats, double parts);

/*
 * Returns the ratio of `samples` to `base`: the mean of the middle half of their quotients, round
 * by round. Quotients of a few cycles often have two modes, between which a median would jump.
 */
double bench_ratio(const double *samples, const double *base, size_t count);

/* Returns the mean of the middle half of the differences, round by round. Returns 0 if the mean is
   negative, which is due to noise, as no work takes negative time. */
double bench_added(const double *samples, const double *base, size_t count);

/* --- Noise --- */

#define BENCH_CYCLE_NS 0.3 /* about a clock cycle: no time is measured more exactly */

/* Counts times, and how many of them are uncertain by more than a tenth and by more than the
   tolerance. */
struct bench_noise {
    size_t times, uncertain;
    double widest;    /* half of the widest interval, relative to its median */
    bool ended_early; /* not all rounds were taken */
};

/* Adds a time; an uncertainty up to `tolerance` nanoseconds does not count. */
void bench_noise_add(struct bench_noise *noise, const struct bench_stats *stats, double tolerance);

/* Adds a measurement; `uncertainty` is relative to the measurement. */
void bench_noise_add_share(struct bench_noise *noise, double uncertainty);

/* Adds all subjects in all cells of a plan that requested `rounds` rounds. */
void bench_noise_add_plan(struct bench_noise *noise, const struct bench_plan *plan, size_t rounds,
                          const double *samples);

/* Adds the counts of `other`. */
void bench_noise_merge(struct bench_noise *noise, const struct bench_noise *other);

/* Checks whether more than a fifth of the times are uncertain: the machine is then too noisy for
   all of them. */
bool bench_noise_is_much(const struct bench_noise *noise);

/*
 * Checks whether noise hides a difference. Either the interval of the difference extends below
 * -`tolerance` nanoseconds, or half of the interval is wider than the median and than `tolerance`.
 */
bool bench_is_lost(const struct bench_stats *difference, double tolerance);

#endif
