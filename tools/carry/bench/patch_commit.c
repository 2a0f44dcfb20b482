/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "bench/patch_commit.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define FLIPS         1001
#define BATCHES       101
#define PASSES_A_LOOK 1000 /* through one site, before the thread reads its flag `stop` */
#define TOLERANCE_NS  1000 /* precision of times; a commit costs some microseconds */

const struct commit_work commit_works[COMMIT_WORKS] = {
    {"call", "1 call", {.form = FORM_PATCHED_CALL, .sites = 1}, FLIPS},
    {"branch", "1 branch", {.form = FORM_BRANCH_OFF, .sites = 1}, FLIPS},
    {"batch", "batch", {.form = FORM_PATCHED_CALL, .spread = true}, BATCHES},
};

const struct commit_way commit_ways[COMMIT_WAYS] = {
    {"remap", "procmem"},
    {"trap", "procmem"},
    {"trap", "alias"},
    {"trap", "mprotect"},
};

/* --- A thread that runs the sites during commits --- */

struct runner {
    const struct patch_text *text;
    atomic_size_t looks;
    atomic_bool stop;
};

static void *run_text_sites(void *context) {
    struct runner *runner = context;
    const size_t passes = 1 + PASSES_A_LOOK / runner->text->shape.sites;
    while (!atomic_load_explicit(&runner->stop, memory_order_relaxed)) {
        runner->text->run(passes);
        atomic_fetch_add_explicit(&runner->looks, 1, memory_order_relaxed);
    }
    return NULL;
}

/* Waits until the thread runs: a thread that has no CPU would not affect a commit. */
static void wait_until_running(struct runner *runner) {
    size_t looks = atomic_load_explicit(&runner->looks, memory_order_relaxed);
    while (atomic_load_explicit(&runner->looks, memory_order_relaxed) == looks)
        sched_yield();
}

/* The CPUs of this process, before its threads are bound to some of them. */
static cpu_set_t cpus;

/* Binds a thread to the CPU at index `place` among the CPUs that this process may use, if there are
 * that many. */
static void bind_to_cpu(pthread_t thread, int place) {
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (CPU_ISSET(cpu, &cpus) && place-- == 0)
            pthread_setaffinity_np(thread, sizeof one, &one);
    }
}

/* --- Commits --- */

/*
 * Times commits, and returns their number; 0 if one fails. The first two are not timed, as the
 * first write to a page copies it.
 */
static size_t time_commits(const struct patch_text *text, struct runner *runner,
                           const struct commit_limit *limit, double *samples) {
    const int64_t begin = clock_ns();
    size_t taken = 0;
    for (size_t i = 0; i < 2 || commit_goes_on(limit, taken, begin); i++) {
        if (runner)
            wait_until_running(runner);
        double took = commit_time(text, (i + 1) % 2);
        if (took < 0)
            return 0;
        if (i >= 2)
            samples[taken++] = took;
    }
    return taken;
}

static void measure_work(struct commit_result *result, const struct patch_text *text,
                         struct runner *runner, const struct commit_limit *limit,
                         const char *backend) {
    double samples[FLIPS];
    struct carry_patch_counts stats;
    const size_t taken = time_commits(text, runner, limit, samples);
    if (!taken)
        return;
    carry_patch_stats(&stats);
    result->measured = !strcmp(stats.backend, backend);
    result->ended_early = taken < limit->rounds;
    result->ns = bench_stats(samples, taken);
    snprintf(result->guard, sizeof result->guard, "%s", stats.guard);
}

/* Times the system call that synchronises cores. The first commit has registered the process for
 * that call. */
static void measure_synchronisation(struct bench_stats *ns, struct runner *runner,
                                    const struct commit_limit *limit) {
    double samples[FLIPS];
    const int64_t begin = clock_ns();
    size_t taken = 0;
    while (commit_goes_on(limit, taken, begin)) {
        if (runner)
            wait_until_running(runner);
        int64_t start = clock_ns();
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
        samples[taken++] = (double)(clock_ns() - start);
    }
    *ns = bench_stats(samples, taken);
}

static void measure_alone(struct commit_results *results, size_t way, size_t work,
                          const struct patch_text *text, const struct commit_limit *limit) {
    measure_work(&results->of[way][work][0], text, NULL, limit, commit_ways[way].backend);
    if (way == 0 && work == 0)
        measure_synchronisation(&results->synchronisation[0], NULL, limit);
}

static void measure_beside_thread(struct commit_results *results, size_t way, size_t work,
                                  const struct patch_text *text, const struct commit_limit *limit) {
    struct runner runner = {.text = text};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_text_sites, &runner))
        return;
    bind_to_cpu(pthread_self(), 0);
    bind_to_cpu(thread, 1);
    measure_work(&results->of[way][work][1], text, &runner, limit, commit_ways[way].backend);
    if (way == 0 && work == 0)
        measure_synchronisation(&results->synchronisation[1], &runner, limit);
    atomic_store(&runner.stop, true);
    pthread_join(thread, NULL);
}

static void measure_delays(struct commit_results *results, size_t way, size_t work,
                           const struct patch_text *text, const struct patch_text *elsewhere,
                           const struct commit_limit *limit) {
    struct commit_delay *delays = results->delays[way][work];
    if (!results->of[way][work][1].measured)
        return;
    commit_delay_measure(&delays[DELAY_OF_SITES], text, text, limit, bind_to_cpu);
    commit_delay_measure(&delays[DELAY_ELSEWHERE], text, elsewhere, limit, bind_to_cpu);
}

/* --- Processes --- */

/* Measures without a thread first: the library treats a process that once had threads as if it
 * still had them. */
static void measure_way(struct commit_results *results, const struct patch_text *texts,
                        const struct patch_text *elsewhere, size_t way,
                        const struct commit_effort *effort) {
    struct commit_limit limits[COMMIT_WORKS];
    sched_getaffinity(0, sizeof cpus, &cpus);
    if (carry_patch_select(commit_ways[way].backend, commit_ways[way].guard))
        return;
    for (size_t i = 0; i < COMMIT_WORKS; i++)
        limits[i] =
            (struct commit_limit){commit_works[i].rounds / effort->divisor, effort->seconds};
    for (size_t i = 0; i < COMMIT_WORKS; i++)
        measure_alone(results, way, i, &texts[i], &limits[i]);
    for (size_t i = 0; i < COMMIT_WORKS; i++)
        measure_beside_thread(results, way, i, &texts[i], &limits[i]);
    for (size_t i = 0; i < COMMIT_WORKS; i++)
        measure_delays(results, way, i, &texts[i], elsewhere, &limits[i]);
}

static void measure_in_child(struct commit_results *results, const struct patch_text *texts,
                             const struct patch_text *elsewhere, size_t way,
                             const struct commit_effort *effort) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        measure_way(results, texts, elsewhere, way, effort);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        results->failed = true;
}

static void add_delay(const struct commit_delay *delay, struct bench_noise *noise) {
    if (!delay->measured)
        return;
    noise->ended_early |= delay->ended_early;
    bench_noise_add_share(noise, commit_delay_is_lost(&delay->longest));
    bench_noise_add_share(noise, commit_delay_is_lost(&delay->total));
}

static void add_work(const struct commit_results *results, size_t way, size_t work,
                     struct bench_noise *noise) {
    for (size_t i = 0; i < 2; i++) {
        const struct commit_result *result = &results->of[way][work][i];
        if (!result->measured)
            continue;
        noise->ended_early |= result->ended_early;
        bench_noise_add(noise, &result->ns, TOLERANCE_NS);
    }
    for (size_t i = 0; i < DELAYS; i++)
        add_delay(&results->delays[way][work][i], noise);
}

void commit_add_noise(const struct commit_results *results, struct bench_noise *noise) {
    for (size_t way = 0; way < COMMIT_WAYS; way++)
        for (size_t work = 0; work < COMMIT_WORKS; work++)
            add_work(results, way, work, noise);
}

bool commit_measure(struct commit_results *results, const struct patch_text *texts,
                    const struct patch_text *elsewhere, const struct commit_effort *effort) {
    struct commit_results *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    for (size_t i = 0; i < COMMIT_WAYS; i++)
        measure_in_child(shared, texts, elsewhere, i, effort);
    *results = *shared;
    munmap(shared, sizeof *shared);
    return true;
}
