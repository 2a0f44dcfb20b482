/* SPDX-License-Identifier: MIT */
/* What extended state costs on this CPU, as `carry xstate cost` and `carry xstate who` time it. */
#ifndef CARRY_TOOLS_XSTATE_MEASURE_H
#define CARRY_TOOLS_XSTATE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/measure.h"
#include "xstate/registers.h"
#include "xstate/section_host.h"

#define GRID_ROWS    8
#define GRID_COLUMNS 5

/* Times of each row in each column, nanoseconds. */
struct xstate_grid {
    size_t rows, columns;
    double ns[GRID_ROWS][GRID_COLUMNS];     /* medians */
    double factor[GRID_ROWS][GRID_COLUMNS]; /* how often the first column fits in */
    size_t rounds;                          /* that were taken */
    struct bench_noise noise;
};

/* How long to measure. */
struct xstate_effort {
    size_t rounds;
    double sample_ns;
    bool shows_progress;
    double seconds; /* as of struct bench_plan */
};

/* Measures a plan that has cells, subjects and work, and fills in the rest. False without memory.
 */
bool xstate_grid_measure(struct xstate_grid *grid, struct bench_plan *plan,
                         const struct xstate_effort *effort);

/* The components that xstate_dirty() can make dirty here. */
uint64_t xstate_reachable(void);

/* How many of enum xstate_upper this CPU can be in: without AVX, only the clean one. */
size_t xstate_uppers(void);

/* --- Saving and loading: a row for each mask of components, a column for each instruction --- */

enum xstate_op {
    XSTATE_FXSAVE,
    XSTATE_XSAVE,
    XSTATE_XSAVEC,
    XSTATE_XRSTOR,
    XSTATE_XGETBV,
    XSTATE_OPS,
};
extern const char *const xstate_op_names[XSTATE_OPS];

bool xstate_has_op(enum xstate_op op);

/* The one that saves what is in use. */
enum xstate_op xstate_saving_op(void);

/*
 * With the components of so many masks, GRID_ROWS at most, made dirty; `masks` then tells what was
 * in use. Columns of instructions that this CPU lacks are zero.
 */
bool xstate_measure_saves(struct xstate_grid *grid, uint64_t *masks, size_t count,
                          const struct xstate_effort *effort);

/* --- The initial state: one row, a column for each way to it --- */

enum xstate_start { XSTATE_FNINIT, XSTATE_FNINIT_XRSTOR, XSTATE_XRSTOR_INITIAL, XSTATE_STARTS };
extern const char *const xstate_start_names[XSTATE_STARTS];   /* for programs */
extern const char *const xstate_start_summary[XSTATE_STARTS]; /* for people */

/* With the columns that this CPU has, the first ones: one without XSAVE. */
bool xstate_measure_starts(struct xstate_grid *grid, const struct xstate_effort *effort);

/* --- Sections: a row for each mask of components --- */

extern const char *const xstate_section_names[XSTATE_SECTIONS];

/* As xstate_measure_saves(); `masks` then tells what a section saved. */
bool xstate_measure_sections(struct xstate_grid *grid, uint64_t *masks, size_t count,
                             const struct xstate_effort *effort);

/* --- libm: a row for each function, a column for each state of uppers --- */

#define LIBM_ROWS 3
extern const char *const xstate_libm_names[LIBM_ROWS];

/* The first `rows` of them. */
bool xstate_measure_libm(struct xstate_grid *grid, size_t rows, const struct xstate_effort *effort);

/* "clean", "ymm", "zmm". */
extern const char *const xstate_upper_names[XSTATE_UPPERS];

/* --- AES-128-CBC in SSE instructions: a row for each size --- */

#define AES_ROWS    5
#define AES_COLUMNS 5
extern const size_t xstate_aes_sizes[AES_ROWS];

/* "ymm_vzeroupper" */
const char *xstate_aes_column(size_t column);

bool xstate_has_aes(void);

/* Does it encrypt SP 800-38A's example as that says? */
bool xstate_aes_is_right(void);

/* With as many columns as this CPU can be in. */
bool xstate_measure_aes(struct xstate_grid *grid, const struct xstate_effort *effort);

/* --- Transitions: what dirty uppers add to single instructions; needs AVX --- */

#define EVENT_ROWS 6
extern const char *const xstate_event_names[EVENT_ROWS];   /* for programs */
extern const char *const xstate_event_summary[EVENT_ROWS]; /* for people */

/* Differences of means: below the noise of the machine they may be negative. No factors. */
bool xstate_measure_events(struct xstate_grid *grid, size_t rounds);

/* --- The verdict --- */

/* The largest factor of a row; 1 where it has no other column than the first. */
double xstate_worst(const struct xstate_grid *grid, size_t row);

/* Below it, times that differ are taken for equal. */
#define XSTATE_PENALTY 1.25

#endif
