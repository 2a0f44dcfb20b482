/* SPDX-License-Identifier: MIT */
/* The clock that runs evenly, whatever is done to the time of day. */
#ifndef CARRY_TOOLS_CLOCK_H
#define CARRY_TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND INT64_C(1000000000)

/* Nanoseconds since some moment in the past. */
static inline int64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * CLOCK_SECOND + time.tv_nsec;
}

#endif
