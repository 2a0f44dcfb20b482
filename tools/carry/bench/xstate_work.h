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
    BENCH_SWITCH_PAIR, /* only carry_xstate_save() and carry_xstate_load() */
    BENCH_SWITCH_PLAIN,
    BENCH_SWITCH_KEEP, /* contexts keep all components */
    BENCH_SWITCH_SWAPCONTEXT,
    BENCH_SWITCHES,
};

#define BENCH_XSTATE_ROWS 4

/* Sets the components in use in each row. Returns the number of rows, which is 1 without AVX. */
size_t bench_xstate_masks(uint64_t masks[BENCH_XSTATE_ROWS]);

/* Measures thunks or switches. Returns false if there is no memory. Columns that this CPU cannot
 * run are left out. */
bool bench_xstate_thunks(struct xstate_grid *grid, const struct xstate_effort *effort);
bool bench_xstate_switches(struct xstate_grid *grid, const struct xstate_effort *effort);

/*
 * Times SSE code (exp() of libm) after an image was loaded, and before registers are cleaned.
 * Images name components in XSTATE_BV, though all their registers are zero. There is a row for each
 * image, and one column.
 */
#define BENCH_XSTATE_IMAGES 4
size_t bench_xstate_named(uint64_t named[BENCH_XSTATE_IMAGES]);
bool bench_xstate_images(struct xstate_grid *grid, const struct xstate_effort *effort);

/* Calls a thunk, or its target alone, with components in use. Returns a value that depends on the
 * calls. */
uint32_t bench_xstate_run_thunk(enum bench_thunk thunk, uint64_t in_use, size_t calls);

/* Returns whether this architecture has thunks and contexts. */
bool bench_xstate_supported(void);

#endif
