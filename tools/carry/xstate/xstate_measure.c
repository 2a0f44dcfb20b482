/* SPDX-License-Identifier: MIT */
/* Times saving and loading, ways to the initial state, sections, and libm. */
#include "xstate/xstate_measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <carry/cpu.h>
#include <carry/xstate.h>

#include "common/progress.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

/* --- Grids --- */

static size_t calls_that_fill_the_time(const void *context, size_t cell) {
    (void)context;
    (void)cell;
    return 0;
}

static void show_grid_progress(size_t done, size_t total) {
    (void)total;
    if (progress_due)
        progress_draw(done);
}

static void show_nothing(size_t done, size_t total) {
    (void)done;
    (void)total;
}

static void fill_grid(struct xstate_grid *grid, const struct bench_plan *plan,
                      const double *samples) {
    grid->rounds = plan->rounds;
    for (size_t row = 0; row < grid->rows; row++) {
        const double *base = bench_samples(plan, samples, row, 0);
        for (size_t column = 0; column < grid->columns; column++) {
            const double *own = bench_samples(plan, samples, row, column);
            grid->ns[row][column] = bench_stats(own, plan->rounds).median;
            grid->factor[row][column] = bench_ratio(own, base, plan->rounds);
        }
    }
}

bool xstate_grid_measure(struct xstate_grid *grid, struct bench_plan *plan,
                         const struct xstate_effort *effort) {
    *grid = (struct xstate_grid){.rows = plan->cells, .columns = plan->subjects};
    plan->rounds = effort->rounds;
    plan->sample_ns = effort->sample_ns;
    plan->seconds = effort->seconds;
    plan->fixed_calls = calls_that_fill_the_time;
    plan->progress = effort->shows_progress ? show_grid_progress : show_nothing;
    if (effort->shows_progress)
        progress_begin_steps(plan->cells * plan->rounds);
    double *samples = bench_measure(plan);
    if (effort->shows_progress)
        progress_end();
    if (samples) {
        fill_grid(grid, plan, samples);
        bench_noise_add_plan(&grid->noise, plan, effort->rounds, samples);
    }
    free(samples);
    return samples != NULL;
}

double xstate_worst(const struct xstate_grid *grid, size_t row) {
    double worst = grid->columns > 1 ? 0 : 1;
    for (size_t column = 1; column < grid->columns; column++)
        worst = fmax(worst, grid->factor[row][column]);
    return worst;
}

/* --- This CPU --- */

uint64_t xstate_reachable(void) {
    uint64_t mask = BIT(X87) | BIT(SSE);
    if (carry_cpu_has("avx"))
        mask |= BIT(AVX);
    if (carry_cpu_has("avx512f"))
        mask |= BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM);
    return mask;
}

size_t xstate_uppers(void) {
    const uint64_t mask = xstate_reachable();
    if (!(mask & BIT(AVX)))
        return XSTATE_CLEAN + 1;
    return mask & BIT(ZMM_HI256) ? XSTATE_ZMM + 1 : XSTATE_YMM + 1;
}

/* --- Saving and loading --- */

static const struct op {
    xstate_loop_fn *loop;
    const char *feature; /* the feature that the instruction needs, or NULL */
} ops[XSTATE_OPS] = {
    [XSTATE_FXSAVE] = {xstate_loop_fxsave, NULL},
    [XSTATE_XSAVE] = {xstate_loop_xsave, "xsave"},
    [XSTATE_XSAVEC] = {xstate_loop_xsavec, "xsavec"},
    [XSTATE_XRSTOR] = {xstate_loop_xrstor, "xsave"},
    [XSTATE_XGETBV] = {xstate_loop_xgetbv, "xgetbv1"},
};

const char *const xstate_op_names[XSTATE_OPS] = {"FXSAVE", "XSAVE", "XSAVEC", "XRSTOR", "XGETBV"};

bool xstate_has_op(enum xstate_op op) {
    return !ops[op].feature || carry_cpu_has(ops[op].feature);
}

enum xstate_op xstate_saving_op(void) {
    if (xstate_has_op(XSTATE_XSAVEC))
        return XSTATE_XSAVEC;
    return xstate_has_op(XSTATE_XSAVE) ? XSTATE_XSAVE : XSTATE_FXSAVE;
}

struct saves {
    const uint64_t *masks;
    uint64_t saved; /* the components that instructions save and load */
    enum xstate_op columns[XSTATE_OPS];
    char *area;
};

/*
 * Makes the components of `mask` dirty, saves the components of `saved`, and returns the components
 * that were in use. No code between these steps may use vector registers, as memset() of the C
 * library does.
 */
static uint64_t save_dirty(char *area, uint64_t mask, uint64_t saved) {
    const enum xstate_op op = xstate_saving_op();
    uint64_t in_use = saved;
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    xstate_dirty(mask);
    ops[op].loop(area, saved, 1);
    if (op != XSTATE_FXSAVE)
        memcpy(&in_use, area + CARRY_XSTATE_LEGACY, sizeof in_use);
    return in_use;
}

static uint32_t run_save(const void *context, size_t cell, size_t subject, size_t first,
                         size_t calls) {
    const struct saves *saves = context;
    enum xstate_op op = saves->columns[subject];
    (void)first;
    save_dirty(saves->area, saves->masks[cell], saves->saved);
    ops[op].loop(saves->area, saves->saved, calls);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return (uint32_t)calls;
}

/* Returns the size of an area that is large enough for each of the instructions. */
static size_t largest_area_size(uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    size_t own = carry_xstate_area_size(mask);
    size_t standard = carry_xstate_size(&layout, layout.user, CARRY_XSTATE_STANDARD);
    size_t bytes = own > standard ? own : standard;
    return (bytes + CARRY_XSTATE_ALIGN - 1) & ~(size_t)(CARRY_XSTATE_ALIGN - 1);
}

bool xstate_measure_saves(struct xstate_grid *grid, uint64_t *masks, size_t count,
                          const struct xstate_effort *effort) {
    struct saves saves = {.masks = masks, .saved = carry_xstate_default()};
    struct bench_plan plan = {.cells = count, .run = run_save, .context = &saves};
    struct xstate_grid found;
    for (enum xstate_op op = 0; op < XSTATE_OPS; op++)
        if (xstate_has_op(op))
            saves.columns[plan.subjects++] = op;
    const size_t bytes = largest_area_size(saves.saved);
    saves.area = aligned_alloc(CARRY_XSTATE_ALIGN, bytes);
    if (!saves.area)
        return false;
    memset(saves.area, 0, bytes);
    bool ok = xstate_grid_measure(&found, &plan, effort);
    *grid = (struct xstate_grid){.rows = count, .columns = XSTATE_OPS};
    for (size_t row = 0; ok && row < count; row++) {
        for (size_t i = 0; i < plan.subjects; i++)
            grid->ns[row][saves.columns[i]] = found.ns[row][i];
        masks[row] = save_dirty(saves.area, masks[row], saves.saved);
    }
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    free(saves.area);
    return ok;
}

/* --- The initial state --- */

static xstate_loop_fn *const starts[XSTATE_STARTS] = {
    [XSTATE_FNINIT] = xstate_loop_fninit,
    [XSTATE_FNINIT_XRSTOR] = xstate_loop_fninit_xrstor,
    [XSTATE_XRSTOR_INITIAL] = xstate_loop_xrstor,
};
const char *const xstate_start_names[XSTATE_STARTS] = {"FNINIT", "FNINIT_XRSTOR", "XRSTOR"};
const char *const xstate_start_summary[XSTATE_STARTS] = {
    [XSTATE_FNINIT] = "FNINIT",
    [XSTATE_FNINIT_XRSTOR] = "FNINIT, then XRSTOR of initial x87",
    [XSTATE_XRSTOR_INITIAL] = "XRSTOR of an initial image of all",
};

static uint32_t run_start(const void *context, size_t cell, size_t subject, size_t first,
                          size_t calls) {
    const struct saves *image = context;
    (void)cell, (void)first;
    starts[subject]((void *)image->area, subject == XSTATE_FNINIT_XRSTOR ? BIT(X87) : image->saved,
                    calls);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    return (uint32_t)calls;
}

/* Makes an area whose XSTATE_BV names no component. */
static void save_initial(char *area, uint64_t mask) {
    static const uint64_t none;
    save_dirty(area, 0, mask);
    memcpy(area + CARRY_XSTATE_LEGACY, &none, sizeof none);
}

bool xstate_measure_starts(struct xstate_grid *grid, const struct xstate_effort *effort) {
    struct saves image = {.saved = carry_xstate_default()};
    struct bench_plan plan = {.cells = 1, .run = run_start, .context = &image};
    const size_t bytes = largest_area_size(image.saved);
    plan.subjects = xstate_has_op(XSTATE_XRSTOR) ? XSTATE_STARTS : XSTATE_FNINIT + 1;
    image.area = aligned_alloc(CARRY_XSTATE_ALIGN, bytes);
    if (!image.area)
        return false;
    memset(image.area, 0, bytes);
    save_initial(image.area, image.saved);
    const bool ok = xstate_grid_measure(grid, &plan, effort);
    free(image.area);
    return ok;
}

/* --- Sections --- */

const char *const xstate_section_names[XSTATE_SECTIONS] = {
    [XSTATE_AGAIN] = "again",
    [XSTATE_X87] = "x87",
    [XSTATE_WHOLE] = "whole",
    [XSTATE_NESTED] = "nested",
};

static uint32_t run_section(const void *context, size_t cell, size_t subject, size_t first,
                            size_t calls) {
    const uint64_t *masks = context;
    (void)first;
    xstate_section_loop((enum xstate_section)subject, masks[cell], calls);
    return (uint32_t)calls;
}

bool xstate_measure_sections(struct xstate_grid *grid, uint64_t *masks, size_t count,
                             const struct xstate_effort *effort) {
    struct bench_plan plan = {
        .cells = count, .subjects = XSTATE_SECTIONS, .run = run_section, .context = masks};
    if (!xstate_section_open())
        return false;
    const bool ok = xstate_grid_measure(grid, &plan, effort);
    for (size_t row = 0; ok && row < count; row++)
        masks[row] = xstate_section_loop(XSTATE_WHOLE, masks[row], 1);
    xstate_section_close();
    return ok;
}

/* --- libm --- */

static double call_pow(double x) {
    return pow(x, 1.7);
}

typedef double math_fn(double x);

static math_fn *const functions[LIBM_ROWS] = {exp, sin, call_pow};
const char *const xstate_libm_names[LIBM_ROWS] = {"exp", "sin", "pow"};

const char *const xstate_upper_names[XSTATE_UPPERS] = {"clean", "ymm", "zmm"};

static xstate_upper_fn *const uppers[XSTATE_UPPERS] = {
    [XSTATE_CLEAN] = xstate_upper_none,
    [XSTATE_YMM] = xstate_upper_ymm,
    [XSTATE_ZMM] = xstate_upper_zmm,
};

/* Calls a function with uppers in the state of `subject`. They remain dirty, as the functions do
 * not execute vzeroupper. */
static uint32_t run_libm(const void *context, size_t cell, size_t subject, size_t first,
                         size_t calls) {
    math_fn *function = functions[cell];
    double sum = 0;
    (void)context;
    carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);
    uppers[subject]();
    for (size_t i = first; i < first + calls; i++)
        sum += function((double)(i % 512 + 1) / 256);
    carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);
    return (uint32_t)(int64_t)sum;
}

bool xstate_measure_libm(struct xstate_grid *grid, size_t rows,
                         const struct xstate_effort *effort) {
    struct bench_plan plan = {.cells = rows, .subjects = xstate_uppers(), .run = run_libm};
    return xstate_grid_measure(grid, &plan, effort);
}
