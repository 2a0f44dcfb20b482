/* SPDX-License-Identifier: MIT */
#include "live/live_threads.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

bool threads_start(pthread_t *thread, void *(*run)(void *context), void *context) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    errno = pthread_create(thread, NULL, run, context);
    const bool ok = !errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

void threads_notify(int event) {
    const uint64_t once = 1;
    if (write(event, &once, sizeof once) < 0) /* the event is readable already */
        return;
}
