/* SPDX-License-Identifier: MIT */
/* Reads the monotonic clock, and the time of day. */
#ifndef CARRY_TOOLS_CLOCK_H
#define CARRY_TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND INT64_C(1000000000)

static inline int64_t clock_read(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * CLOCK_SECOND + time.tv_nsec;
}

/* Returns nanoseconds since some moment in the past. */
static inline int64_t clock_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}

/* Returns nanoseconds since 1970. */
static inline uint64_t clock_day_ns(void) {
    return (uint64_t)clock_read(CLOCK_REALTIME);
}

#endif
