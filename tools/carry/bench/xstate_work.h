/* SPDX-License-Identifier: MIT */
/* Times thunks and context switches, for `carry bench xstate`. */
#ifndef CARRY_TOOLS_BENCH_XSTATE_WORK_H
#define CARRY_TOOLS_BENCH_XSTATE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xstate/xstate_measure.h"

enum bench_thunk {
    BENCH_THUNK_CALL,   /* the target without a thunk */
    BENCH_THUNK_ENTER,  /* carry_thunk_enter around a callback in SSE code */
    BENCH_THUNK_AROUND, /* carry_thunk_around, with callbacks before and after */
    BENCH_THUNK_XSAVEC, /* XSAVEC and XRSTOR around the callback, as glibc's resolver does */
    BENCH_THUNKS,
};

enum bench_switch {
    BENCH_SWITCH_PAIR, /* only XSAVEC and XRSTOR of all components */
    BENCH_SWITCH_PLAIN,
    BENCH_SWITCH_KEEP, /* contexts keep all components */
    BENCH_SWITCH_SWAPCONTEXT,
    BENCH_SWITCHES,
};

#define BENCH_XSTATE_ROWS 4

/* Sets the components in use in each row, and returns the number of rows: one without AVX. */
size_t bench_xstate_masks(uint64_t masks[BENCH_XSTATE_ROWS]);

/* Return false without memory. Columns that this CPU cannot run are zero. */
bool bench_xstate_thunks(struct xstate_grid *grid, const struct xstate_effort *effort);
bool bench_xstate_switches(struct xstate_grid *grid, const struct xstate_effort *effort);

/*
 * Time SSE code (exp() of libm) after an image was loaded, until registers are cleaned. Images name
 * components in XSTATE_BV, though all their registers are zero. There is a row for each image, and
 * one column.
 */
#define BENCH_XSTATE_IMAGES 4
size_t bench_xstate_named(uint64_t named[BENCH_XSTATE_IMAGES]);
bool bench_xstate_images(struct xstate_grid *grid, const struct xstate_effort *effort);

/* Returns whether this architecture has thunks and contexts. */
bool bench_xstate_supported(void);

#endif
