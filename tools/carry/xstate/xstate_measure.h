/* SPDX-License-Identifier: MIT */
/* Times extended state on this CPU, for `carry xstate cost` and `carry xstate who`. */
#ifndef CARRY_TOOLS_XSTATE_MEASURE_H
#define CARRY_TOOLS_XSTATE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/measure.h"
#include "xstate/registers.h"
#include "xstate/xstate_section_host.h"

#define GRID_ROWS    8
#define GRID_COLUMNS 5

/* Times of rows and columns, in nanoseconds. */
struct xstate_grid {
    size_t rows, columns;
    double ns[GRID_ROWS][GRID_COLUMNS];     /* medians */
    double factor[GRID_ROWS][GRID_COLUMNS]; /* multiples of the first column */
    size_t rounds;                          /* the rounds that were taken */
    struct bench_noise noise;
};

/* How much to measure, and whether to show progress. */
struct xstate_effort {
    size_t rounds;
    double sample_ns;
    bool shows_progress;
    double seconds; /* see struct bench_plan */
};

/* Measures a plan whose cells, subjects and functions are set. Returns false if there is
 * no memory. */
bool xstate_grid_measure(struct xstate_grid *grid, struct bench_plan *plan,
                         const struct xstate_effort *effort);

/* Returns the components that xstate_dirty() can make dirty on this CPU. */
uint64_t xstate_reachable(void);

/* Returns how many states of enum xstate_upper this CPU has: 1 if it lacks AVX. */
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

/* Returns the instruction by which the components in use are determined. */
enum xstate_op xstate_saving_op(void);

/*
 * Measures with the components of each of `count` masks dirty; `count` is at most GRID_ROWS. Sets
 * each mask to the components that were in use. Columns of instructions that this CPU lacks are
 * zero.
 */
bool xstate_measure_saves(struct xstate_grid *grid, uint64_t *masks, size_t count,
                          const struct xstate_effort *effort);

/* --- The initial state: one row, a column for each way to reach it --- */

enum xstate_start { XSTATE_FNINIT, XSTATE_FNINIT_XRSTOR, XSTATE_XRSTOR_INITIAL, XSTATE_STARTS };
extern const char *const xstate_start_names[XSTATE_STARTS];   /* names in JSON */
extern const char *const xstate_start_summary[XSTATE_STARTS]; /* titles in text */

/* Measures the first columns, which this CPU can run. Without XSAVE, it can run only one. */
bool xstate_measure_starts(struct xstate_grid *grid, const struct xstate_effort *effort);

/* --- Sections: a row for each mask of components --- */

extern const char *const xstate_section_names[XSTATE_SECTIONS];

/* Measures like xstate_measure_saves(); sets masks to the components that a section saved. */
bool xstate_measure_sections(struct xstate_grid *grid, uint64_t *masks, size_t count,
                             const struct xstate_effort *effort);

/* --- libm: a row for each function, a column for each state of uppers --- */

#define LIBM_ROWS 3
extern const char *const xstate_libm_names[LIBM_ROWS];

/* Measures the first `rows` functions. */
bool xstate_measure_libm(struct xstate_grid *grid, size_t rows, const struct xstate_effort *effort);

/* The names of states: "clean", "ymm", "zmm". */
extern const char *const xstate_upper_names[XSTATE_UPPERS];

/* --- AES-128-CBC in SSE instructions: a row for each size --- */

#define AES_ROWS    5
#define AES_COLUMNS 5
extern const size_t xstate_aes_sizes[AES_ROWS];

/* Returns the name of a column, such as "ymm_vzeroupper". */
const char *xstate_aes_column(size_t column);

bool xstate_has_aes(void);

/* Returns whether AES encrypts the test vector of SP 800-38A correctly. */
bool xstate_aes_is_right(void);

/* Measures the first columns: the columns whose states this CPU has. */
bool xstate_measure_aes(struct xstate_grid *grid, const struct xstate_effort *effort);

/* --- Transitions: what dirty uppers add to single instructions; needs AVX --- */

#define EVENT_ROWS 6
extern const char *const xstate_event_names[EVENT_ROWS];   /* names in JSON */
extern const char *const xstate_event_summary[EVENT_ROWS]; /* titles in text */

/* Measures differences of means, without factors. Noise may make them negative. */
bool xstate_measure_events(struct xstate_grid *grid, size_t rounds);

/* --- The verdict --- */

/* Returns the largest factor of a row; 1 if it has one column. */
double xstate_worst(const struct xstate_grid *grid, size_t row);

/* The least factor that counts as a difference. */
#define XSTATE_PENALTY 1.25

#endif
