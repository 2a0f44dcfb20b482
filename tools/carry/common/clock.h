/* SPDX-License-Identifier: MIT */
/* The clock that runs evenly, whatever is done to the time of day; and that of the day. */
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

/* Nanoseconds since some moment in the past. */
static inline int64_t clock_ns(void) {
    return clock_read(CLOCK_MONOTONIC);
}

/* Nanoseconds since 1970. */
static inline uint64_t clock_day_ns(void) {
    return (uint64_t)clock_read(CLOCK_REALTIME);
}

#endif
