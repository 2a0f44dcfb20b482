/* SPDX-License-Identifier: MIT */
/*
 * Runs threads that share one lock and wait for two events. threads_none.c serves systems without
 * threads: no thread starts, and the caller does the work.
 */
#ifndef CARRY_CAPTURE_SRC_THREADS_H
#define CARRY_CAPTURE_SRC_THREADS_H

#include <stdbool.h>

enum threads_event { THREADS_WORK, THREADS_DONE, THREADS_EVENTS };

struct threads;

/* Creates the lock and the events. Returns NULL if there is no memory. carry_threads_free() waits
   until all threads have returned. */
struct threads *carry_threads_create(void);
void carry_threads_free(struct threads *threads);

/* Starts a thread with all signals blocked, except those of faults: a blocked one would end the
   process. Returns false if that fails. */
bool carry_threads_start(struct threads *threads, void (*run)(void *context, unsigned number),
                         void *context, unsigned number);

void carry_threads_lock(struct threads *threads);
void carry_threads_unlock(struct threads *threads);

/* Wait for an event or signal it. The caller holds the lock; carry_threads_wait() releases the lock
   while it waits. */
void carry_threads_wait(struct threads *threads, enum threads_event event);
void carry_threads_signal(struct threads *threads, enum threads_event event);
void carry_threads_broadcast(struct threads *threads, enum threads_event event);

/* Returns how many cores this process may run on, at least 1. */
unsigned carry_threads_cores(void);

#endif
