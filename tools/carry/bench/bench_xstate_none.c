/* SPDX-License-Identifier: MIT */
/* Defines the benchmark for architectures other than x86-64: there is nothing to measure. */
#include "bench/xstate_work.h"

bool bench_xstate_supported(void) {
    return false;
}

size_t bench_xstate_masks(uint64_t masks[BENCH_XSTATE_ROWS]) {
    masks[0] = 0;
    return 0;
}

bool bench_xstate_thunks(struct xstate_grid *grid, const struct xstate_effort *effort) {
    (void)effort;
    *grid = (struct xstate_grid){0};
    return true;
}

bool bench_xstate_switches(struct xstate_grid *grid, const struct xstate_effort *effort) {
    return bench_xstate_thunks(grid, effort);
}

uint32_t bench_xstate_run_thunk(enum bench_thunk thunk, uint64_t in_use, size_t calls) {
    (void)thunk, (void)in_use;
    return (uint32_t)calls;
}

size_t bench_xstate_named(uint64_t named[BENCH_XSTATE_IMAGES]) {
    named[0] = 0;
    return 0;
}

bool bench_xstate_images(struct xstate_grid *grid, const struct xstate_effort *effort) {
    return bench_xstate_thunks(grid, effort);
}
