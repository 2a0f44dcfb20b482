/* SPDX-License-Identifier: MIT */
/* What `carry bench xstate` times: thunks and switches, by what is in use. */
#ifndef CARRY_TOOLS_BENCH_XSTATE_WORK_H
#define CARRY_TOOLS_BENCH_XSTATE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xstate/measure.h"

enum bench_thunk {
    BENCH_THUNK_CALL,   /* the target alone */
    BENCH_THUNK_ENTER,  /* carry_thunk_enter around a callback in SSE code */
    BENCH_THUNK_AROUND, /* carry_thunk_around, with a callback before and one behind */
    BENCH_THUNK_XSAVEC, /* XSAVEC and XRSTOR around the callback, as glibc's resolver does */
    BENCH_THUNKS,
};

enum bench_switch {
    BENCH_SWITCH_PAIR, /* XSAVEC and XRSTOR of all components alone */
    BENCH_SWITCH_PLAIN,
    BENCH_SWITCH_KEEP, /* of contexts that keep all components */
    BENCH_SWITCH_SWAPCONTEXT,
    BENCH_SWITCHES,
};

#define BENCH_XSTATE_ROWS 4

/* The components in use in each row; those of a CPU without AVX are one. Returns how many. */
size_t bench_xstate_masks(uint64_t masks[BENCH_XSTATE_ROWS]);

/* False for want of memory. Columns of what this CPU lacks are zero. */
bool bench_xstate_thunks(struct xstate_grid *grid, const struct xstate_effort *effort);
bool bench_xstate_switches(struct xstate_grid *grid, const struct xstate_effort *effort);

/*
 * What images name in XSTATE_BV, be the registers all zero, and what SSE code (exp() of libm) then
 * takes until something cleans: a row an image, one column.
 */
#define BENCH_XSTATE_IMAGES 4
size_t bench_xstate_named(uint64_t named[BENCH_XSTATE_IMAGES]);
bool bench_xstate_images(struct xstate_grid *grid, const struct xstate_effort *effort);

/* Are there thunks and contexts on this architecture? */
bool bench_xstate_supported(void);

#endif
