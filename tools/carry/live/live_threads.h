/* SPDX-License-Identifier: MIT */
/* Starts and notifies the threads of `carry live`. */
#ifndef CARRY_TOOLS_LIVE_THREADS_H
#define CARRY_TOOLS_LIVE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with all signals blocked, so that the main thread receives them. Returns false
   with errno set on failure. */
bool threads_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Makes an eventfd readable. */
void threads_notify(int event);

#endif
