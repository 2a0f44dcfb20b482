/* SPDX-License-Identifier: MIT */
/*
 * Tests ten captures that are open and checked in ten threads at once, and the signal masks of
 * worker threads.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/captures.h"
#include "harness/tap.h"

#define CAPTURES 10
#define COPIES   600

static struct bytes bytes;

/* A thread, and what it finds and repairs in its own capture. */
struct own {
    pthread_t thread;
    uint64_t counted, findings;
    uint64_t repaired;
    int code;
};

static pthread_barrier_t barrier;

static bool count_finding(void *user, const struct carry_capture_finding *finding) {
    struct own *own = user;
    own->findings += finding->number > 0;
    return true;
}

static void *check_own_capture(void *user) {
    struct own *own = user;
    const struct carry_capture_check_options options = {
        .threads = 3, .finding = count_finding, .user = own};
    struct carry_capture_summary *summary;
    struct carry_capture_repairs *repairs = NULL;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    pthread_barrier_wait(&barrier);
    own->code = carry_capture_check(capture, &options, &summary);
    own->counted = carry_capture_total(summary, ~0u);
    if (own->code == CARRY_OK)
        own->code = carry_capture_rewind(capture);
    if (own->code == CARRY_OK)
        own->code = carry_capture_fix(capture, NULL, NULL, &repairs);
    own->repaired = repairs ? carry_capture_repair_totals(repairs)->repaired : 0;
    pthread_barrier_wait(&barrier); /* all captures are still open */
    carry_capture_repairs_free(repairs);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    return NULL;
}

static void test_ten(void) {
    struct own owns[CAPTURES] = {{0}};
    bool ok = true;
    pthread_barrier_init(&barrier, NULL, CAPTURES);
    for (unsigned i = 0; i < CAPTURES; i++)
        if (pthread_create(&owns[i].thread, NULL, check_own_capture, &owns[i]))
            abort();
    for (unsigned i = 0; i < CAPTURES; i++) {
        pthread_join(owns[i].thread, NULL);
        ok &= owns[i].code == CARRY_OK && owns[i].counted == 14 * COPIES &&
              owns[i].findings == 3 * COPIES && owns[i].repaired == owns[0].repaired;
    }
    pthread_barrier_destroy(&barrier);
    tap_ok(TAP_TRUE(ok) && TAP_GE(owns[0].repaired, 6 * COPIES),
           "ten captures are checked in ten threads at once");
}

/* --- Signals --- */

/* The state of a judge that only examines which signals the workers block. */
struct asked {
    pthread_t caller;
    atomic_uint workers;
    atomic_uint open;   /* workers that a signal may interrupt */
    atomic_uint deadly; /* workers whose faults would kill the process */
};

static void *ask_worker(void *user) {
    struct asked *asked = user;
    sigset_t blocked;
    if (pthread_equal(pthread_self(), asked->caller))
        return user;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    asked->open += !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM) ||
                   !sigismember(&blocked, SIGALRM) || !sigismember(&blocked, SIGCHLD);
    asked->deadly += sigismember(&blocked, SIGSEGV) || sigismember(&blocked, SIGBUS);
    asked->workers++;
    return user;
}

static void close_nothing(void *user, void *state) {
    (void)user, (void)state;
}

/* Makes the calling thread wait until a worker has run ask_worker(). Its first calls may wait in
 * vain: while the calling thread examines the first piece, there is no other one. */
static bool wait_for_worker(void *state, const struct carry_capture_packet *packets, size_t count) {
    struct asked *asked = state;
    (void)packets, (void)count;
    for (unsigned i = 0; i < 50 && !asked->workers; i++)
        usleep(1000);
    return false;
}

static int judge_nothing(void *state, const struct carry_frame *frame,
                         struct carry_packet_sum *sums) {
    (void)state, (void)frame, (void)sums;
    return -1;
}

static void test_signals(void) {
    struct asked asked = {.caller = pthread_self()};
    const struct carry_capture_judge judge = {.open = ask_worker,
                                              .close = close_nothing,
                                              .prepare = wait_for_worker,
                                              .check = judge_nothing,
                                              .user = &asked};
    const struct carry_capture_check_options options = {.threads = 3, .judge = &judge};
    struct carry_capture_summary *summary;
    struct carry_capture *capture;
    carry_capture_open_memory(bytes.data, bytes.size, &capture, NULL);
    carry_capture_check(capture, &options, &summary);
    carry_capture_summary_free(summary);
    carry_capture_close(capture);
    tap_ok(TAP_GT(asked.workers, 0) && TAP_EQ(asked.open, 0), "workers block signals");
    tap_ok(TAP_EQ(asked.deadly, 0), "workers do not block the signals of faults");
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    tap_ok(!sigismember(&blocked, SIGINT), "the calling thread does not block signals");
}

int main(void) {
    bytes = make_long_capture(COPIES);
    test_signals();
    test_ten();
    bytes_free(&bytes);
    return tap_done();
}
