/* SPDX-License-Identifier: MIT */
/* Computes the excess of windows with a commit, and decides when there are enough windows. */
#include "bench/patch_delay.h"

#include <stdlib.h>

#include "common/clock.h"

#define TOLERANCE_NS 1000 /* the precision of delays */

bool commit_goes_on(const struct commit_limit *limit, size_t taken, int64_t since) {
    const double seconds = (double)(clock_ns() - since) / CLOCK_SECOND;
    return taken < limit->rounds && (taken < BENCH_FEWEST || seconds <= limit->seconds);
}

struct bench_stats commit_excess(const double *with, const double *without, size_t count) {
    const double usual = bench_stats(without, count).median;
    double above[count];
    for (size_t i = 0; i < count; i++)
        above[i] = with[i] - usual;
    return bench_stats(above, count);
}

bool commit_delay_is_lost(const struct bench_stats *delay) {
    return bench_is_lost(delay, TOLERANCE_NS);
}
