/* SPDX-License-Identifier: MIT */
/*
 * Threads that share one lock, and two events that they wait for. threads_none.c answers where a
 * system has none: no thread starts then, and the caller does the work.
 */
#ifndef CARRY_CAPTURE_SRC_THREADS_H
#define CARRY_CAPTURE_SRC_THREADS_H

#include <stdbool.h>

enum threads_event { THREADS_WORK, THREADS_DONE, THREADS_EVENTS };

struct threads;

/* NULL without memory. carry_threads_free() waits until all threads have returned. */
struct threads *carry_threads_create(void);
void carry_threads_free(struct threads *threads);

/* Starts a thread with all signals blocked; false if that cannot be. */
bool carry_threads_start(struct threads *threads, void (*run)(void *context, unsigned number),
                         void *context, unsigned number);

void carry_threads_lock(struct threads *threads);
void carry_threads_unlock(struct threads *threads);

/* With the lock held, which the wait gives up meanwhile. */
void carry_threads_wait(struct threads *threads, enum threads_event event);
void carry_threads_signal(struct threads *threads, enum threads_event event);
void carry_threads_broadcast(struct threads *threads, enum threads_event event);

/* How many cores this process may run on, at least 1. */
unsigned carry_threads_cores(void);

#endif
