/* SPDX-License-Identifier: MIT */
#include "bench/patch_apps.h"

#include <errno.h>
#include <string.h>

#include "common/command.h"

#define CHECKED_PASSES 100

const char *const patch_app_form_names[APP_FORMS] = {
    [APP_COMPILED_IN] = "compiled-in",
    [APP_POINTERS] = "pointers",
    [APP_PATCHED] = "patched",
};

const struct patch_app *const patch_apps[PATCH_APPS] = {&patch_app_packets, &patch_app_server};

/* --- Patching --- */

static bool is_key_changed(const struct carry_patch *patch, const struct carry_key *wanted) {
    const struct carry_key *key = patch->changed;
    while (key && key != wanted)
        key = key->changed;
    return key != NULL;
}

/* Returns how many of the tool's own sites a transaction changes. */
static size_t count_app_sites(const struct carry_patch *patch) {
    size_t count = 0;
    for (const struct carry_site *site = __start_carry_sites; site < __stop_carry_sites; site++) {
        const uintptr_t key = (uintptr_t)&site->key + (uintptr_t)(intptr_t)site->key;
        if ((site->kind == CARRY_SITE_CALL || site->kind == CARRY_SITE_BRANCH) &&
            is_key_changed(patch, (const struct carry_key *)key))
            count++;
    }
    return count;
}

static size_t count_patched(void) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    return stats.direct + stats.branches;
}

/* Patches the sites of all applications. Each site must then be direct, or a patched branch. */
static int patch_all(struct patch_app_results *results) {
    struct carry_patch patch;
    const size_t before = count_patched();
    carry_patch_begin(&patch);
    for (size_t i = 0; i < PATCH_APPS; i++)
        patch_apps[i]->add(&patch);
    const size_t sites = count_app_sites(&patch);
    const int error = carry_patch_commit(&patch);
    results->patched = sites != 0;
    if (!error && count_patched() == before + sites)
        return STATUS_CLEAN;
    command_error("sites could not be patched: %s",
                  error ? carry_error_text(error) : "those of applications stay as they were");
    return STATUS_BAD;
}

/* --- Measuring --- */

static uint32_t run_app(const void *context, size_t cell, size_t subject, size_t first,
                        size_t calls) {
    (void)context, (void)first;
    return patch_apps[cell]->run((enum patch_app_form)subject, calls);
}

static size_t as_many_as_fit(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 0;
}

/* Checks that all forms of the applications compute the same. */
static int check_forms(const struct patch_app_results *results) {
    for (size_t i = 0; i < PATCH_APPS; i++) {
        const uint32_t expected = patch_apps[i]->run(APP_COMPILED_IN, CHECKED_PASSES);
        for (size_t form = 0; form < results->plan.subjects; form++) {
            if (expected &&
                patch_apps[i]->run((enum patch_app_form)form, CHECKED_PASSES) == expected)
                continue;
            command_error("the form %s of the %s computes a wrong result",
                          patch_app_form_names[form], patch_apps[i]->title);
            return STATUS_BAD;
        }
    }
    return STATUS_CLEAN;
}

static int measure_open(struct patch_app_results *results) {
    struct bench_plan *plan = &results->plan;
    int status = patch_all(results);
    if (status != STATUS_CLEAN)
        return status;
    plan->cells = PATCH_APPS;
    plan->subjects = results->patched ? APP_FORMS : APP_PATCHED;
    plan->run = run_app;
    plan->fixed_calls = as_many_as_fit;
    status = check_forms(results);
    if (status != STATUS_CLEAN)
        return status;
    results->samples = bench_measure(plan);
    return results->samples ? STATUS_CLEAN : command_error("out of memory");
}

int patch_apps_measure(struct patch_app_results *results) {
    int status = STATUS_CLEAN;
    size_t opened = 0;
    while (opened < PATCH_APPS && patch_apps[opened]->open())
        opened++;
    if (opened == PATCH_APPS)
        status = measure_open(results);
    else
        status =
            command_error("cannot open the %s: %s", patch_apps[opened]->title, strerror(errno));
    while (opened)
        patch_apps[--opened]->close();
    return status;
}

/* --- Results --- */

static const double *app_samples(const struct patch_app_results *results, size_t app,
                                 enum patch_app_form form) {
    return bench_samples(&results->plan, results->samples, app, form);
}

struct bench_stats patch_app_stats(const struct patch_app_results *results, size_t app,
                                   enum patch_app_form form) {
    return bench_stats_part(bench_stats(app_samples(results, app, form), results->plan.rounds),
                            (double)patch_apps[app]->units);
}

double patch_app_ratio(const struct patch_app_results *results, size_t app,
                       enum patch_app_form form, enum patch_app_form base) {
    return bench_ratio(app_samples(results, app, form), app_samples(results, app, base),
                       results->plan.rounds);
}
