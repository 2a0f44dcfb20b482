/* SPDX-License-Identifier: MIT */
/*
 * Tests the statistics of `carry bench` with chosen samples: quiet ones, disturbed ones, and times
 * of nearly 0.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/patch_delay.h"
#include "common/measure.h"
#include "harness/tap.h"

#define COUNT 101

/* Returns a sample of round `i`. */
typedef double sample_fn(size_t i);

static double quiet(size_t i) {
    return 100 + 0.01 * (double)(i % 7);
}

static double noisy(size_t i) {
    return i % 2 ? 100 : 1000;
}

/* Returns sample `i`: another program disturbs a tenth of the samples. */
static double disturbed(size_t i) {
    return i % 10 ? quiet(i) : 1e7;
}

/* Returns a time below a clock cycle: a few picoseconds are a large part of it. */
static double tiny(size_t i) {
    return i % 2 ? 0.07 : 0.11;
}

static struct bench_stats stats_of(sample_fn *sample, size_t count, double factor) {
    double samples[COUNT];
    for (size_t i = 0; i < count; i++)
        samples[i] = factor * sample(i);
    return bench_stats(samples, count);
}

static void test_intervals(void) {
    double samples[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        samples[i] = (double)(i * 37 % COUNT); /* each number below COUNT once */
    const struct bench_stats stats = bench_stats(samples, COUNT);
    tap_ok(stats.median == 50, "the median is %g", stats.median);
    tap_ok(stats.low == 40, "the interval begins at %g", stats.low);
    tap_ok(stats.high == 60, "the interval ends at %g", stats.high);
    for (size_t count = 1; count <= COUNT; count++) {
        const struct bench_stats some = bench_stats(samples, count);
        if (!(some.min <= some.low && some.low <= some.median && some.median <= some.high))
            tap_ok(false, "of %zu samples: %g in %g to %g", count, some.median, some.low,
                   some.high);
    }
    const struct bench_stats few = stats_of(noisy, 3, 1);
    tap_ok(TAP_TRUE(few.low == 100) && TAP_TRUE(few.high == 1000),
           "few samples have a wide interval (%g to %g)", few.low, few.high);
    const struct bench_stats part = bench_stats_part(stats, 10);
    tap_ok(TAP_TRUE(part.low == 4) && TAP_TRUE(part.high == 6),
           "a fraction of the times has a fraction of the interval (%g to %g)", part.low,
           part.high);
}

static void test_noise(void) {
    static const struct {
        const char *name;
        sample_fn *sample;
        double tolerance;
        size_t uncertain;
    } rows[] = {
        {"quiet", quiet, BENCH_CYCLE_NS, 0}, {"disturbed", disturbed, BENCH_CYCLE_NS, 0},
        {"noisy", noisy, BENCH_CYCLE_NS, 1}, {"tiny", tiny, BENCH_CYCLE_NS, 0},
        {"tiny, exactly", tiny, 0.001, 1},   {"noisy, roughly", noisy, 1000, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_noise noise = {0};
        const struct bench_stats stats = stats_of(rows[i].sample, COUNT, 1);
        bench_noise_add(&noise, &stats, rows[i].tolerance);
        tap_ok(noise.times == 1, "%s: %zu times", rows[i].name, noise.times);
        tap_ok(noise.uncertain == rows[i].uncertain, "%s: %zu of 1 uncertain (%zu)", rows[i].name,
               rows[i].uncertain, noise.uncertain);
    }
}

static void test_much(void) {
    struct bench_noise noise = {0};
    tap_ok(!bench_noise_is_much(&noise), "no times are not noisy");
    for (size_t i = 0; i < 10; i++)
        bench_noise_add_share(&noise, i < 2 ? 0.11 : 0.1);
    tap_ok(!bench_noise_is_much(&noise), "2 of 10 uncertain times are not many (%zu)",
           noise.uncertain);
    tap_ok(noise.widest == 0.11, "the widest is %g", noise.widest);
    bench_noise_add_share(&noise, 7);
    tap_ok(bench_noise_is_much(&noise), "3 of 11 uncertain times are many (%zu)", noise.uncertain);
    struct bench_noise sum = {0};
    bench_noise_merge(&sum, &noise);
    bench_noise_merge(&sum, &noise);
    tap_ok(sum.times == 22, "merged: %zu times", sum.times);
    tap_ok(sum.uncertain == 6, "merged: %zu uncertain", sum.uncertain);
    tap_ok(sum.widest == 7, "merged: the widest is %g", sum.widest);
}

/* --- Differences --- */

static void test_differences(void) {
    double more[COUNT], less[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        more[i] = quiet(i) + 20;
        less[i] = quiet(i);
    }
    const double added = bench_added(more, less, COUNT), taken = bench_added(less, more, COUNT);
    tap_ok(fabs(added - 20) < 1e-9, "a difference is %g", added);
    tap_ok(taken == 0, "a negative difference counts as 0: %g", taken);
}

/* Tests the delay that a commit adds to another thread. */
static void test_delays(void) {
    static const struct {
        const char *name;
        sample_fn *with, *without;
        double factor;
        bool is_lost;
        double median;
    } rows[] = {
        {"quiet", quiet, quiet, 1, false, 0},
        {"a millisecond", disturbed, disturbed, 1, false, 0},
        {"noise in both", noisy, noisy, 1000, true, 0},
        {"less with a commit", quiet, noisy, 1000, true, -900e3},
        {"more with a commit", noisy, quiet, 1000, false, 900e3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double with[COUNT], without[COUNT];
        for (size_t j = 0; j < COUNT; j++) {
            with[j] = rows[i].factor * rows[i].with(j);
            without[j] = rows[i].factor * rows[i].without(j);
        }
        const struct bench_stats delay = commit_excess(with, without, COUNT);
        tap_ok(fabs(delay.median - rows[i].median) < 100, "delay, %s: %g", rows[i].name,
               delay.median);
        tap_ok(commit_delay_is_lost(&delay) == rows[i].is_lost, "delay, %s: %s (%g to %g)",
               rows[i].name, rows[i].is_lost ? "lost" : "known", delay.low, delay.high);
    }
}

/* --- The end of the time --- */

static size_t calls_made;

static uint32_t run_subject(const void *context, size_t cell, size_t subject, size_t first,
                            size_t calls) {
    (void)context, (void)first, (void)calls;
    calls_made++;
    return (uint32_t)(cell + subject);
}

static size_t one_call(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 1;
}

static void no_progress(size_t done, size_t total) {
    (void)done, (void)total;
}

static void test_rounds(double seconds, size_t expected) {
    struct bench_plan plan = {
        .cells = 2,
        .subjects = 3,
        .rounds = 40,
        .sample_ns = 1,
        .seconds = seconds,
        .run = run_subject,
        .fixed_calls = one_call,
        .progress = no_progress,
    };
    struct bench_noise noise = {0};
    calls_made = 0;
    double *samples = bench_measure(&plan);
    tap_ok(plan.rounds == expected, "%g seconds: %zu rounds (%zu)", seconds, expected, plan.rounds);
    tap_ok(calls_made == 6 * expected, "%zu calls", calls_made);
    size_t none = 0;
    for (size_t i = 0; samples && i < 6 * plan.rounds; i++)
        none += !(samples[i] >= 1);
    tap_ok(TAP_TRUE(samples) && TAP_EQ(none, 0), "each sample is a time (%zu are not)", none);
    bench_noise_add_plan(&noise, &plan, 40, samples);
    tap_ok(TAP_EQ(noise.times, 6), "%zu times", noise.times);
    tap_ok(noise.ended_early == (expected < 40), "missing rounds are reported");
    free(samples);
}

static void test_commit_limit(void) {
    const struct commit_limit none = {7, 0}, long_ago = {7, 1e-9};
    tap_ok(commit_goes_on(&none, BENCH_FEWEST - 1, 0), "the first rounds are always measured");
    tap_ok(!commit_goes_on(&long_ago, BENCH_FEWEST, 0),
           "no further rounds are measured when the time is over");
    const struct commit_limit ever = {7, INFINITY};
    tap_ok(commit_goes_on(&ever, 6, 0), "all rounds are measured when there is time");
    tap_ok(!commit_goes_on(&ever, 7, 0), "no more rounds than requested are measured");
}

int main(void) {
    test_intervals();
    test_noise();
    test_much();
    test_differences();
    test_delays();
    test_rounds(0, 40);
    test_rounds(INFINITY, 40);
    test_rounds(1e-12, BENCH_FEWEST);
    test_commit_limit();
    return tap_done();
}
