/* SPDX-License-Identifier: MIT */
/*
 * Changes an operation ROUNDS times (10,000 by default) while threads call it.
 *
 * usage: flip [HOW [ROUNDS [FILE]]]     Starts when FILE exists. HOW is
 *                                       blocked: threads block all signals;
 *                                       handled: a handler that blocks all signals calls the
 *                                       operation.
 *
 * Prints "ok"; "refused" if a commit was refused, which ends the rounds; or "wrong", with exit
 * status 1, if a call returned a value of neither function.
 */
#include <carry/patch.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2

CARRY_OP(int, number, int);
static int same(int a) {
    return a;
}
static int next(int a) {
    return a + 1;
}
CARRY_OP_DEFINE(number, same);

static _Atomic int stop, wrong;
static _Atomic long called;

/* Calls the operation many times; debuggers can stop here. */
__attribute__((noinline)) void call_some(void);
void call_some(void) {
    for (int i = 0; i < 1000; i++) {
        int seen = carry_call(number)(1);
        if (seen != 1 && seen != 2)
            wrong = 1;
    }
    called++;
}

static void handle(int signal) {
    (void)signal;
    while (!stop)
        call_some();
}

/* Calls the operation in a handler if `handled`. */
static void *work(void *handled) {
    if (handled)
        raise(SIGUSR1);
    while (!stop)
        call_some();
    return NULL;
}

/* Waits for calls, however busy the machine is. */
static void wait_for_calls(void) {
    long before = called;
    while (called < before + 2)
        sched_yield();
}

static int commit(int round) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    if (round % 2)
        carry_set(&patch, number, next);
    else
        carry_set(&patch, number, same);
    return carry_patch_commit(&patch);
}

static void block_all(const char *how) {
    struct sigaction action;
    sigset_t all;
    sigfillset(&all);
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_mask = all;
    if (!strcmp(how, "blocked"))
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int rounds = argc > 2 ? atoi(argv[2]) : 10000;
    pthread_t threads[THREADS];
    alarm(100); /* ends a hanging test: under valgrind, a round may need 20 ms */
    int error = 0;
    bool handled = !strcmp(how, "handled");
    carry_patch_apply(0);
    block_all(how);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, handled ? &handled : NULL);
    while (argc > 3 && access(argv[3], F_OK))
        usleep(1000);
    for (int i = 0; i < rounds && !error; i++) {
        if (i % 500 == 0)
            wait_for_calls();
        error = commit(i);
    }
    stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts(wrong ? "wrong" : error ? "refused" : "ok");
    return wrong;
}
