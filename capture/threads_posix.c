/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include <carry/capture.h>

/* The arguments of a thread. */
struct start {
    void (*run)(void *context, unsigned number);
    void *context;
    unsigned number;
};

struct threads {
    pthread_mutex_t mutex;
    pthread_cond_t events[THREADS_EVENTS];
    pthread_t started[CARRY_CAPTURE_THREADS_MAX];
    struct start starts[CARRY_CAPTURE_THREADS_MAX];
    unsigned count;
};

struct threads *carry_threads_create(void) {
    struct threads *threads = calloc(1, sizeof *threads);
    if (!threads)
        return NULL;
    pthread_mutex_init(&threads->mutex, NULL);
    for (unsigned i = 0; i < THREADS_EVENTS; i++)
        pthread_cond_init(&threads->events[i], NULL);
    return threads;
}

void carry_threads_free(struct threads *threads) {
    if (!threads)
        return;
    for (unsigned i = 0; i < threads->count; i++)
        pthread_join(threads->started[i], NULL);
    for (unsigned i = 0; i < THREADS_EVENTS; i++)
        pthread_cond_destroy(&threads->events[i]);
    pthread_mutex_destroy(&threads->mutex);
    free(threads);
}

static void *start_routine(void *context) {
    const struct start *start = context;
    start->run(start->context, start->number);
    return NULL;
}

bool carry_threads_start(struct threads *threads, void (*function)(void *context, unsigned number),
                         void *context, unsigned number) {
    sigset_t blocked, before;
    struct start *start = &threads->starts[threads->count];
    if (threads->count == CARRY_CAPTURE_THREADS_MAX)
        return false;
    *start = (struct start){function, context, number};
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool started =
        pthread_create(&threads->started[threads->count], NULL, start_routine, start) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    threads->count += started;
    return started;
}

void carry_threads_lock(struct threads *threads) {
    pthread_mutex_lock(&threads->mutex);
}

void carry_threads_unlock(struct threads *threads) {
    pthread_mutex_unlock(&threads->mutex);
}

void carry_threads_wait(struct threads *threads, enum threads_event event) {
    pthread_cond_wait(&threads->events[event], &threads->mutex);
}

void carry_threads_signal(struct threads *threads, enum threads_event event) {
    pthread_cond_signal(&threads->events[event]);
}

void carry_threads_broadcast(struct threads *threads, enum threads_event event) {
    pthread_cond_broadcast(&threads->events[event]);
}

unsigned carry_threads_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    unsigned count = (unsigned)CPU_COUNT(&set);
    return count < CARRY_CAPTURE_THREADS_MAX ? count : CARRY_CAPTURE_THREADS_MAX;
}
