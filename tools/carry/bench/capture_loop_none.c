/* SPDX-License-Identifier: MIT */
/* Replaces capture_loop.c in builds without libpcap. */
#include "bench/capture_loop.h"

int bench_capture_loop(const char *path) {
    (void)path;
    return BENCH_CAPTURE_MISSING;
}
