/* SPDX-License-Identifier: MIT */
/*
 * Replaces the measurements of `carry bench` by means of the linker's --wrap, so that its output
 * can be tested with chosen values on any machine. Environment variables choose these values:
 *
 * CARRY_CHOSEN          the times: one of the names below; without it, times are measured
 * CARRY_CHOSEN_KERNELS  the number of kernels in each table
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <carry/copy.h>
#include <carry/crc.h>
#include <carry/sum.h>

#include "bench/live_run.h"
#include "bench/patch_commit.h"
#include "common/measure.h"

#define KERNELS_MAX 32

/* Returns the nanoseconds of a subject; `round` and `rounds` are for times that vary. */
typedef double chosen_fn(size_t subject, size_t round, size_t rounds);

/* Returns times that are each printed with five characters. */
static double times_widest(size_t subject, size_t round, size_t rounds) {
    (void)round, (void)rounds;
    return subject % 2 ? 99999.4 : 12.34e6;
}

/* Returns times that alternate between extremes, so that their quotients are the largest and the
   smallest possible. */
static double times_apart(size_t subject, size_t round, size_t rounds) {
    (void)round, (void)rounds;
    return subject % 2 ? 12.34e6 : 0.02;
}

static double times_narrowest(size_t subject, size_t round, size_t rounds) {
    (void)subject, (void)round, (void)rounds;
    return 0.001;
}

/* Returns times that differ by less than 1%. */
static double times_quiet(size_t subject, size_t round, size_t rounds) {
    (void)subject, (void)rounds;
    return 500 + (double)(round % 5);
}

/* Returns times as measured while another program takes a time slice in half of the rounds. */
static double times_noisy(size_t subject, size_t round, size_t rounds) {
    (void)rounds;
    return (round + subject) % 2 ? 4e6 : 500;
}

/* Returns times that are smaller than the ones subtracted from them. */
static double times_backwards(size_t subject, size_t round, size_t rounds) {
    (void)round, (void)rounds;
    return subject ? 500 / (double)subject : 4e6;
}

static const struct {
    const char *name;
    chosen_fn *ns;
} choices[] = {
    {"quiet", times_quiet},   {"noisy", times_noisy}, {"backwards", times_backwards},
    {"widest", times_widest}, {"apart", times_apart}, {"narrowest", times_narrowest},
};

static chosen_fn *chosen_times(void) {
    const char *name = getenv("CARRY_CHOSEN");
    for (size_t i = 0; name && i < sizeof choices / sizeof *choices; i++)
        if (strcmp(name, choices[i].name) == 0)
            return choices[i].ns;
    return NULL;
}

/* --- Times --- */

double *__real_bench_measure(struct bench_plan *plan);
double *__wrap_bench_measure(struct bench_plan *plan);

double *__wrap_bench_measure(struct bench_plan *plan) {
    const size_t count = plan->cells * plan->subjects * plan->rounds;
    chosen_fn *ns = chosen_times();
    if (!ns)
        return __real_bench_measure(plan);
    double *samples = calloc(count, sizeof *samples);
    for (size_t i = 0; samples && i < count; i++)
        samples[i] = ns(i / plan->rounds % plan->subjects, i % plan->rounds, plan->rounds);
    return samples;
}

static struct bench_stats chosen_stats(size_t subject) {
    double samples[100];
    const size_t count = sizeof samples / sizeof *samples;
    for (size_t i = 0; i < count; i++)
        samples[i] = chosen_times()(subject, i, count);
    return bench_stats(samples, count);
}

/* Returns how much longer windows with a commit take than windows without one. Windows without
   a commit have the times of subject 0. */
static struct bench_stats chosen_excess(size_t subject) {
    double with[100], without[100];
    const size_t count = sizeof with / sizeof *with;
    for (size_t i = 0; i < count; i++) {
        with[i] = chosen_times()(subject + 1, i, count);
        without[i] = chosen_times()(0, i, count);
    }
    return commit_excess(with, without, count);
}

bool __real_commit_measure(struct commit_results *results, const struct patch_text *texts,
                           const struct patch_text *elsewhere, const struct commit_effort *effort);
bool __wrap_commit_measure(struct commit_results *results, const struct patch_text *texts,
                           const struct patch_text *elsewhere, const struct commit_effort *effort);

static void choose_work(struct commit_results *results, size_t way, size_t work) {
    for (size_t i = 0; i < 2; i++) {
        struct commit_result *result = &results->of[way][work][i];
        *result = (struct commit_result){.measured = true, .ns = chosen_stats(work + i)};
        snprintf(result->guard, sizeof result->guard, "%s", "remap");
    }
    for (size_t i = 0; i < DELAYS; i++)
        results->delays[way][work][i] = (struct commit_delay){true, false, chosen_excess(work + i),
                                                              chosen_excess(work + i + 1)};
}

bool __wrap_commit_measure(struct commit_results *results, const struct patch_text *texts,
                           const struct patch_text *elsewhere, const struct commit_effort *effort) {
    if (!chosen_times())
        return __real_commit_measure(results, texts, elsewhere, effort);
    for (size_t i = 0; i < COMMIT_WAYS * COMMIT_WORKS; i++)
        choose_work(results, i / COMMIT_WORKS, i % COMMIT_WORKS);
    for (size_t i = 0; i < 2; i++)
        results->synchronisation[i] = chosen_stats(i);
    return true;
}

/* --- Other processes --- */

bool __real_live_run_begin(void);
bool __wrap_live_run_begin(void);

bool __wrap_live_run_begin(void) {
    return chosen_times() || __real_live_run_begin();
}

struct live_outcome __real_live_run(const char *const *command, const char *ready,
                                    const struct live_trial *trial);
struct live_outcome __wrap_live_run(const char *const *command, const char *ready,
                                    const struct live_trial *trial);

/* Returns results that follow from the chosen time: for example no packet at all, or more packets
   than any network carries. */
struct live_outcome __wrap_live_run(const char *const *command, const char *ready,
                                    const struct live_trial *trial) {
    if (!chosen_times())
        return __real_live_run(command, ready, trial);
    const double count = round(chosen_times()(1, 0, 1));
    return (struct live_outcome){
        .state = LIVE_MEASURED,
        .rate = count,
        .sent = (uint64_t)count,
        .dropped = (uint64_t)(count * 99),
        .busy = chosen_times() == times_noisy ? 0.5 : 1,
        .cpu_seconds = count,
        .peak_bytes = (uint64_t)(count * 1e9),
    };
}

pid_t __real_wait4(pid_t pid, int *status, int options, struct rusage *used);
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *used);

/* Sets the CPU time of a program to the chosen time, in whole seconds. It may be 0, as for a
   program that runs for less than a clock tick. */
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *used) {
    const pid_t ended = __real_wait4(pid, status, options, used);
    if (chosen_times())
        used->ru_utime = used->ru_stime = (struct timeval){(time_t)chosen_times()(1, 0, 1), 0};
    return ended;
}

/* --- Kernels --- */

static size_t wanted_kernels(void) {
    const char *text = getenv("CARRY_CHOSEN_KERNELS");
    return text ? strtoul(text, NULL, 10) : 0;
}

/* Returns a name of sixteen characters, as long as the longest real ones. */
static const char *made_up_name(size_t index) {
    static char names[KERNELS_MAX][64];
    snprintf(names[index], sizeof names[index], "made_up_kernel%02zu", index);
    return names[index];
}

/*
 * Lists the first kernel of a table under other names, so that any CPU can run all of them; the
 * last one is chosen.
 */
#define WRAP_KERNELS(function, type)                                                               \
    bool __real_##function(size_t index, struct type *kernel);                                     \
    bool __wrap_##function(size_t index, struct type *kernel);                                     \
    bool __wrap_##function(size_t index, struct type *kernel) {                                    \
        const size_t count = wanted_kernels();                                                     \
        if (!count)                                                                                \
            return __real_##function(index, kernel);                                               \
        if (index >= count || index >= KERNELS_MAX || !__real_##function(0, kernel))               \
            return false;                                                                          \
        kernel->name = made_up_name(index);                                                        \
        kernel->vector_bits = index ? 512 : 64;                                                    \
        kernel->chosen = index + 1 == count;                                                       \
        return true;                                                                               \
    }

WRAP_KERNELS(carry_sum_kernel, carry_sum_kernel)
WRAP_KERNELS(carry_crc32c_kernel, carry_sum_kernel)
WRAP_KERNELS(carry_copy_kernel, carry_copy_kernel)
