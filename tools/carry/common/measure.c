/* SPDX-License-Identifier: MIT */
#include "common/measure.h"

#include <alloca.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/beside.h"
#include "common/clock.h"

#define CALIBRATION_TRIES 4
#define SETTLE_NS         2000000 /* the limit: CPUs lower their clock for about a millisecond */
#define SETTLED           1.05    /* relative to the shortest time of the scalar work so far */
#define PAGE_BYTES        4096

#define UNCERTAIN 0.1  /* the limit of a time's uncertainty, as a share of the time */
#define MUCH      0.2  /* the limit of uncertain times, as a share of all times */
#define NORMAL_95 1.96 /* this many standard deviations on each side of the mean cover 95 % */

/*
 * Times calls. Each call stores its return address, and a load from the same offset in another page
 * may wait for that store. The position of the stack differs from run to run, so the stack is first
 * moved down to the end of a page, while the data begins at the start of one.
 */
static double time_calls(const struct bench_plan *plan, size_t cell, size_t subject, size_t first,
                         size_t calls) {
    void *moved = alloca((uintptr_t)__builtin_frame_address(0) % PAGE_BYTES);
    __asm__ volatile("" : : "r"(moved) : "memory");
    int64_t start = clock_ns();
    volatile uint32_t kept = plan->run(plan->context, cell, subject, first, calls);
    (void)kept;
    return fmax(1, (double)(clock_ns() - start)); /* so that quotients are finite */
}

/* Returns the shortest of a few times. From a disturbed time, calibrate_calls() would choose too
   few calls for every sample. */
static double least_time(const struct bench_plan *plan, size_t cell, size_t subject, size_t calls) {
    double least = time_calls(plan, cell, subject, 0, calls);
    for (int i = 1; i < CALIBRATION_TRIES; i++) {
        double took = time_calls(plan, cell, subject, 0, calls);
        least = took < least ? took : least;
    }
    return least;
}

/* Returns how many calls fill a sample. Doubles their number until the cost of reading the clock is
   small. */
static size_t calibrate_calls(const struct bench_plan *plan, size_t cell, size_t subject) {
    size_t calls = plan->fixed_calls(plan->context, cell);
    if (calls)
        return calls;
    double took = 0;
    for (calls = 1; took * 8 < plan->sample_ns; calls *= 2)
        took = least_time(plan, cell, subject, calls);
    double fitting = (double)calls / 2 * plan->sample_ns / took;
    return fitting < 1 ? 1 : (size_t)fitting;
}

/* Does scalar work until it takes no longer than usual, as the previous subject may have lowered
   the clock frequency. */
static void settle_clock(void) {
    static int64_t least = INT64_MAX;
    static volatile uint64_t kept;
    const int64_t begin = clock_ns();
    int64_t start, took;
    do {
        start = clock_ns();
        kept = bench_beside(kept);
        took = clock_ns() - start;
        least = took < least ? took : least;
    } while ((double)took > (double)least * SETTLED && start - begin < SETTLE_NS);
}

/*
 * Takes one sample. Caches and predictors still contain the previous subject's state, so a quarter
 * as many calls run untimed first, numbered just before the sample's calls: running the sample's
 * own calls twice would teach the predictors what mixed work must hide from them.
 */
static double take_sample(const struct bench_plan *plan, size_t cell, size_t subject, size_t round,
                          size_t calls) {
    size_t first = (round + 1) * calls;
    size_t warm_up = calls / 4;
    if (plan->settles && plan->settles(plan->context, cell))
        settle_clock();
    if (warm_up)
        time_calls(plan, cell, subject, first - warm_up, warm_up);
    return time_calls(plan, cell, subject, first, calls) / (double)calls;
}

static void measure_one_round(const struct bench_plan *plan, const size_t *calls, size_t round,
                              double *samples) {
    for (size_t cell = 0; cell < plan->cells; cell++) {
        for (size_t i = 0; i < plan->subjects; i++) {
            /* Each round begins with another subject, so that none is always the first of
               its cell. */
            size_t subject = (i + round) % plan->subjects;
            size_t index = cell * plan->subjects + subject;
            samples[index * plan->rounds + round] =
                take_sample(plan, cell, subject, round, calls[index]);
        }
        plan->progress(round * plan->cells + cell + 1, plan->rounds * plan->cells);
    }
}

/* Packs the samples of the rounds that were completed, and drops the others. */
static void keep_rounds(struct bench_plan *plan, double *samples, size_t taken) {
    for (size_t i = 0; i < plan->cells * plan->subjects; i++)
        memmove(samples + i * taken, samples + i * plan->rounds, taken * sizeof *samples);
    plan->rounds = taken;
}

static void measure_rounds(struct bench_plan *plan, const size_t *calls, double *samples) {
    const int64_t begin = clock_ns();
    size_t round = 0;
    for (; round < plan->rounds; round++) {
        const double seconds = (double)(clock_ns() - begin) / CLOCK_SECOND;
        if (plan->seconds > 0 && seconds > plan->seconds && round >= BENCH_FEWEST)
            break;
        measure_one_round(plan, calls, round, samples);
    }
    keep_rounds(plan, samples, round);
}

double *bench_measure(struct bench_plan *plan) {
    size_t count = plan->cells * plan->subjects;
    size_t *calls = calloc(count, sizeof *calls);
    double *samples = calloc(count * plan->rounds, sizeof *samples);
    if (calls && samples) {
        for (size_t i = 0; i < count; i++)
            calls[i] = calibrate_calls(plan, i / plan->subjects, i % plan->subjects);
        measure_rounds(plan, calls, samples);
    } else {
        free(samples);
        samples = NULL;
    }
    free(calls);
    return samples;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns a quantile, interpolated linearly between two samples. */
static double sample_quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

struct bench_stats bench_stats(const double *samples, size_t count) {
    double sorted[count];
    memcpy(sorted, samples, sizeof sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    /* The number of samples below the true median has a binomial distribution, which is
       approximated as normal here. */
    const double half = (double)count / 2, beside = half - NORMAL_95 / 2 * sqrt((double)count);
    const size_t outside = beside > 0 ? (size_t)beside : 0;
    return (struct bench_stats){
        .median = sample_quantile(sorted, count, 0.5),
        .q1 = sample_quantile(sorted, count, 0.25),
        .q3 = sample_quantile(sorted, count, 0.75),
        .min = sorted[0],
        .low = sorted[outside],
        .high = sorted[count - 1 - outside],
    };
}

struct bench_stats bench_stats_part(struct bench_stats stats, double parts) {
    return (struct bench_stats){
        .median = stats.median / parts,
        .q1 = stats.q1 / parts,
        .q3 = stats.q3 / parts,
        .min = stats.min / parts,
        .low = stats.low / parts,
        .high = stats.high / parts,
    };
}

/* Sorts the values in place, and returns the mean of their middle half. */
static double middle_mean(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_doubles);
    size_t cut = count / 4;
    double total = 0;
    for (size_t i = cut; i < count - cut; i++)
        total += values[i];
    return total / (double)(count - 2 * cut);
}

double bench_ratio(const double *samples, const double *base, size_t count) {
    double ratios[count];
    for (size_t i = 0; i < count; i++)
        ratios[i] = samples[i] / base[i];
    return middle_mean(ratios, count);
}

double bench_added(const double *samples, const double *base, size_t count) {
    double added[count];
    for (size_t i = 0; i < count; i++)
        added[i] = samples[i] - base[i];
    return fmax(0, middle_mean(added, count));
}

/* --- Noise --- */

static double half_width(const struct bench_stats *stats) {
    return (stats->high - stats->low) / 2;
}

void bench_noise_add_share(struct bench_noise *noise, double uncertainty) {
    noise->times++;
    noise->uncertain += uncertainty > UNCERTAIN;
    noise->widest = fmax(noise->widest, uncertainty);
}

void bench_noise_add(struct bench_noise *noise, const struct bench_stats *stats, double tolerance) {
    const double half = half_width(stats);
    bench_noise_add_share(noise, half > tolerance ? half / fmax(stats->median, tolerance) : 0);
}

void bench_noise_add_plan(struct bench_noise *noise, const struct bench_plan *plan, size_t rounds,
                          const double *samples) {
    noise->ended_early |= plan->rounds < rounds;
    for (size_t i = 0; i < plan->cells * plan->subjects; i++) {
        const struct bench_stats stats = bench_stats(samples + i * plan->rounds, plan->rounds);
        bench_noise_add(noise, &stats, BENCH_CYCLE_NS);
    }
}

void bench_noise_merge(struct bench_noise *noise, const struct bench_noise *other) {
    noise->times += other->times;
    noise->uncertain += other->uncertain;
    noise->widest = fmax(noise->widest, other->widest);
    noise->ended_early |= other->ended_early;
}

bool bench_noise_is_much(const struct bench_noise *noise) {
    return (double)noise->uncertain > MUCH * (double)noise->times;
}

bool bench_is_lost(const struct bench_stats *difference, double tolerance) {
    return difference->low < -tolerance ||
           half_width(difference) > fmax(difference->median, tolerance);
}
