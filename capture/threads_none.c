/* SPDX-License-Identifier: MIT */
/* Implements threads.h without threads: nothing ever waits, because all work is done before its
   result is needed. */
#include "threads.h"

#include <stdlib.h>

struct threads {
    char unused;
};

struct threads *carry_threads_create(void) {
    return calloc(1, sizeof(struct threads));
}

void carry_threads_free(struct threads *threads) {
    free(threads);
}

bool carry_threads_start(struct threads *threads, void (*run)(void *context, unsigned number),
                         void *context, unsigned number) {
    (void)threads, (void)run, (void)context, (void)number;
    return false;
}

void carry_threads_lock(struct threads *threads) {
    (void)threads;
}

void carry_threads_unlock(struct threads *threads) {
    (void)threads;
}

void carry_threads_wait(struct threads *threads, enum threads_event event) {
    (void)threads, (void)event;
}

void carry_threads_signal(struct threads *threads, enum threads_event event) {
    (void)threads, (void)event;
}

void carry_threads_broadcast(struct threads *threads, enum threads_event event) {
    (void)threads, (void)event;
}

unsigned carry_threads_cores(void) {
    return 1;
}
