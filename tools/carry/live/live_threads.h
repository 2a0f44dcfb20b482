/* SPDX-License-Identifier: MIT */
/* Starts and notifies the threads of `carry live`. */
#ifndef CARRY_TOOLS_LIVE_THREADS_H
#define CARRY_TOOLS_LIVE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with all signals blocked: the main thread receives them. False with errno set. */
bool threads_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Makes an eventfd readable. */
void threads_notify(int event);

#endif
