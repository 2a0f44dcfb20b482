/* SPDX-License-Identifier: MIT */
/* Shares cases and results of `carry bench patch` between measurement and reports. */
#ifndef CARRY_TOOLS_BENCH_PATCH_H
#define CARRY_TOOLS_BENCH_PATCH_H

#include "bench/patch_apps.h"
#include "bench/patch_commit.h"
#include "bench/patch_text.h"
#include "common/measure.h"

/* A kind of place in which forms are timed. */
struct patch_cell {
    const char *name;
    const char *title;
    struct patch_shape shape; /* if `sites` is 0, the user chooses the number */
};

enum { CELL_ONE, CELL_MANY, CELL_EIGHT, CELL_COLD, PATCH_CELLS };
extern const struct patch_cell patch_cells[PATCH_CELLS];

/* Describes a form of a call or branch. */
struct patch_form_text {
    const char *name;
    const char *title;
    bool eight; /* the form can call a callee of eight instructions */
};
extern const struct patch_form_text patch_forms[FORM_COUNT];

#define PATCH_CASES_MAX (PATCH_CELLS * FORM_COUNT)

struct patch_bench {
    size_t cold_sites, batch_sites;
    size_t case_count;
    size_t cell_of[PATCH_CASES_MAX];
    struct patch_text texts[PATCH_CASES_MAX];
    /* The last one has nothing to patch: the thread of DELAY_ELSEWHERE runs it. */
    struct patch_text commit_texts[COMMIT_WORKS + 1];
    struct bench_plan plan;
    double *samples;
    struct commit_results commits;
    struct patch_app_results apps;
    struct bench_noise noise;
};

/* Returns the number of a case, or -1 if the form is not timed in the cell. */
int patch_case(const struct patch_bench *bench, enum patch_form form, size_t cell);

/* Returns the nanoseconds of one site of a case. */
struct bench_stats patch_stats(const struct patch_bench *bench, int number);

/* Returns the time of case `number` as a multiple of the time of case `base`. */
double patch_ratio(const struct patch_bench *bench, int number, int base);

/* Prints the reports on standard output. On architectures without sites, cases, commits and delays
 * are absent. */
void patch_print_json(const struct patch_bench *bench);
void patch_print_text(const struct patch_bench *bench);

#endif
