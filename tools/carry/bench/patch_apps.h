/* SPDX-License-Identifier: MIT */
/* Times the applications of `carry bench patch` in all forms. */
#ifndef CARRY_TOOLS_BENCH_PATCH_APPS_H
#define CARRY_TOOLS_BENCH_PATCH_APPS_H

#include <jansson.h>

#include "bench/patch_app.h"

#define PATCH_APPS 2
extern const struct patch_app *const patch_apps[PATCH_APPS];

struct patch_app_results {
    bool patched; /* false: there are no sites, and the form APP_PATCHED is not timed */
    struct bench_plan plan;
    double *samples; /* by application and form; the caller frees them */
};

/*
 * Patches all sites of the applications, and times all forms in rounds. Returns STATUS_CLEAN, or
 * another exit status after a message. The caller sets plan.rounds, .sample_ns, .seconds and
 * .progress.
 */
int patch_apps_measure(struct patch_app_results *results);

/* Returns the nanoseconds of one unit of an application. */
struct bench_stats patch_app_stats(const struct patch_app_results *results, size_t app,
                                   enum patch_app_form form);

/* Returns the time of a form as a multiple of the time of form `base`, compared within rounds. */
double patch_app_ratio(const struct patch_app_results *results, size_t app,
                       enum patch_app_form form, enum patch_app_form base);

/* Reports the results: as a table on standard output, or as a list in JSON, which is returned. */
void patch_apps_print_text(const struct patch_app_results *results);
json_t *patch_apps_json(const struct patch_app_results *results);

#endif
