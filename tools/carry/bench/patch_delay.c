/* SPDX-License-Identifier: MIT */
/*
 * Measures delays of a thread that alternately runs a text and reads the clock. A turn of more than
 * twice the usual time was held up, by the commit or by something else. Windows with a commit
 * alternate with windows of the same length without one. The delay is the excess of windows with a
 * commit over the median of windows without a commit.
 */
#define _GNU_SOURCE
#include "bench/patch_delay.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/clock.h"

#define PASSES_A_TURN 64 /* through one site: some 0.1 us */

/* Windows that determine the usual time of a turn. */
#define TRIALS   21
#define TRIAL_NS 100e3

struct turns {
    size_t count;
    int64_t elapsed;
    int64_t longest;
    int64_t lost; /* the excess of turns that were held up over the usual time */
};

struct worker {
    const struct patch_text *text;
    atomic_uint asked; /* odd: begin a window; even: end it */
    atomic_uint done;
    atomic_bool stop;
    atomic_llong usual;
    struct turns window; /* the last window that has ended */
};

static void add_turn(struct turns *turns, int64_t took, int64_t usual) {
    turns->count++;
    turns->elapsed += took;
    if (took > turns->longest)
        turns->longest = took;
    if (took > 2 * usual)
        turns->lost += took - usual;
}

/* Runs the thread. A window begins, and ends, at the end of a turn that began after the request. */
static void *take_turns(void *context) {
    struct worker *worker = context;
    const size_t passes = 1 + PASSES_A_TURN / worker->text->shape.sites;
    struct turns turns = {0};
    for (int64_t before = clock_ns(); !atomic_load(&worker->stop);) {
        unsigned asked = atomic_load(&worker->asked);
        worker->text->run(passes);
        int64_t now = clock_ns();
        add_turn(&turns, now - before, atomic_load(&worker->usual));
        before = now;
        if (asked == atomic_load(&worker->done))
            continue;
        worker->window = turns;
        turns = (struct turns){0};
        atomic_store(&worker->done, asked);
    }
    return NULL;
}

static void request_window(struct worker *worker) {
    unsigned asked = atomic_fetch_add(&worker->asked, 1) + 1;
    while (atomic_load(&worker->done) != asked)
        sched_yield();
}

/* Commits within a window. Returns the nanoseconds of the commit; negative if it failed. */
static double commit_in_window(struct worker *worker, const struct patch_text *text, unsigned state,
                               struct turns *turns) {
    request_window(worker);
    double took = commit_time(text, state);
    request_window(worker);
    *turns = worker->window;
    return took;
}

static void wait_in_window(struct worker *worker, double ns, struct turns *turns) {
    request_window(worker);
    for (int64_t start = clock_ns(); (double)(clock_ns() - start) < ns;)
        ;
    request_window(worker);
    *turns = worker->window;
}

struct windows {
    struct turns with, without;
};

/*
 * Takes pairs of windows, and returns their number; 0 if a commit fails. The first two pairs are
 * dropped, as the first write to a page copies it.
 */
static size_t take_windows(struct worker *worker, const struct patch_text *text,
                           struct windows *windows, const struct commit_limit *limit) {
    const int64_t begin = clock_ns();
    size_t taken = 0;
    for (size_t i = 0; i < 2 || commit_goes_on(limit, taken, begin); i++) {
        struct windows *pair = &windows[taken];
        double took = commit_in_window(worker, text, (i + 1) % 2, &pair->with);
        if (took < 0)
            return 0;
        wait_in_window(worker, took, &pair->without);
        taken += i >= 2;
    }
    return taken;
}

static double number_in_turns(const struct turns *turns, size_t offset) {
    return (double)*(const int64_t *)((const char *)turns + offset);
}

static void find_usual_turn(struct worker *worker, double seconds) {
    const struct commit_limit limit = {TRIALS, seconds};
    const int64_t begin = clock_ns();
    double samples[TRIALS];
    struct turns turns;
    size_t taken = 0;
    while (commit_goes_on(&limit, taken, begin)) {
        wait_in_window(worker, TRIAL_NS, &turns);
        samples[taken++] = (double)turns.elapsed / (double)turns.count;
    }
    atomic_store(&worker->usual, (long long)bench_stats(samples, taken).median);
}

/* Returns the excess of a number, the member of struct turns at `offset`, in windows with
 * a commit. */
static struct bench_stats excess_of_windows(const struct windows *windows, size_t count,
                                            size_t offset, double *samples) {
    double *with = samples, *without = samples + count;
    for (size_t i = 0; i < count; i++) {
        with[i] = number_in_turns(&windows[i].with, offset);
        without[i] = number_in_turns(&windows[i].without, offset);
    }
    return commit_excess(with, without, count);
}

static void measure_beside(struct commit_delay *delay, struct worker *worker,
                           const struct patch_text *committed, const struct commit_limit *limit) {
    struct windows *windows = calloc(limit->rounds, sizeof *windows);
    double *samples = calloc(2 * limit->rounds, sizeof *samples);
    find_usual_turn(worker, limit->seconds);
    const size_t taken = windows && samples ? take_windows(worker, committed, windows, limit) : 0;
    if (taken)
        *delay = (struct commit_delay){
            .measured = true,
            .ended_early = taken < limit->rounds,
            .longest = excess_of_windows(windows, taken, offsetof(struct turns, longest), samples),
            .total = excess_of_windows(windows, taken, offsetof(struct turns, lost), samples),
        };
    free(samples);
    free(windows);
}

void commit_delay_measure(struct commit_delay *delay, const struct patch_text *committed,
                          const struct patch_text *run, const struct commit_limit *limit,
                          void (*bind)(pthread_t thread, int place)) {
    struct worker worker = {.text = run};
    pthread_t thread;
    if (pthread_create(&thread, NULL, take_turns, &worker))
        return;
    bind(pthread_self(), 0);
    bind(thread, 1);
    measure_beside(delay, &worker, committed, limit);
    atomic_store(&worker.stop, true);
    pthread_join(thread, NULL);
}
