/* SPDX-License-Identifier: MIT */
/* `carry bench patch`: times calls and branches in all forms, patched and unpatched; commits; and
 * two applications. */
#define _GNU_SOURCE
#include "bench/bench_patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benches.h"
#include "common/command.h"
#include "common/options.h"
#include "common/progress.h"

#define SITES_MAX (1u << 20)

/* The amount to measure. */
struct effort {
    size_t cold_sites, batch_sites;
    size_t rounds;
    double sample_ns;
    double seconds; /* the most on a busy machine, for the cases */
    double app_seconds;
    struct commit_effort commits;
};

static const struct effort quick = {1024, 1000, 15, 50e3, 3, 0.5, {10, 0.1}};
static const struct effort normal = {16384, 10000, 101, 500e3, 15, 2, {1, 0.4}};

static const char usage[] =
    "Usage: carry bench patch [OPTION]...\n"
    "\n"
    "Times the forms of calls and branches that programs use, patched and not: at one\n"
    "site, at 64 sites, with a callee of eight instructions, and at cold sites, each\n"
    "in a cache line of its own. Then times commits of one site, back and forth, and\n"
    "of many, alone and beside a thread that runs the sites, with each back end that\n"
    "works here. Then measures how long a commit delays another thread that runs the\n"
    "sites, and one that does not. Last, times two applications with operations and\n"
    "flags compiled in, patched, and in memory. Takes eight seconds.\n"
    "\n"
    "  --sites=N     time this many cold sites (16384)\n"
    "  --batch=N     put this many sites into the large commit (10000)\n"
    "  --quick       fewer sites and rounds: a second\n"
    "  -J, --json    print everything measured as a JSON object\n"
    "  -h, --help    print this help\n"
    "\n"
    "Exit status: 0 measured, or there are no sites on this architecture; 1 sites\n"
    "could not be patched; 3 wrong usage, or out of memory.\n"
    "\n"
    "Examples:\n"
    "  carry bench patch --quick\n"
    "  carry bench patch --sites=65536\n";

/* --- Texts --- */

static int no_memory(void) {
    return command_error("cannot create the code to measure: %s", strerror(errno));
}

static bool add_case(struct patch_bench *bench, enum patch_form form, size_t cell) {
    struct patch_shape shape = patch_cells[cell].shape;
    if (!patch_text_has(form) || (shape.eight && !patch_forms[form].eight))
        return true;
    shape.form = form;
    if (!shape.sites)
        shape.sites = bench->cold_sites;
    if (!patch_text_make(&bench->texts[bench->case_count], &shape))
        return false;
    bench->cell_of[bench->case_count++] = cell;
    return true;
}

static bool make_texts(struct patch_bench *bench) {
    for (size_t cell = 0; cell < PATCH_CELLS; cell++)
        for (size_t form = 0; form < FORM_COUNT; form++)
            if (!add_case(bench, (enum patch_form)form, cell))
                return false;
    return true;
}

static bool make_commit_texts(struct patch_bench *bench) {
    for (size_t i = 0; i < COMMIT_WORKS; i++) {
        struct patch_shape shape = commit_works[i].shape;
        if (!shape.sites)
            shape.sites = bench->batch_sites;
        if (!patch_text_make(&bench->commit_texts[i], &shape))
            return false;
    }
    const struct patch_shape elsewhere = {.form = FORM_DIRECT, .sites = 1};
    return patch_text_make(&bench->commit_texts[COMMIT_WORKS], &elsewhere);
}

static void release_texts(struct patch_text *texts, size_t count) {
    for (size_t i = 0; i < count && texts[i].memory; i++)
        patch_text_release(&texts[i]);
}

/* --- Patching --- */

/* The numbers of sites that are not in the state for which they are timed. */
struct shortfall {
    size_t unpatched, called;
    enum carry_patch_reason reason;
};

static struct shortfall count_shortfall(void) {
    struct carry_patch_counts stats;
    struct shortfall now = {0};
    carry_patch_stats(&stats);
    now.called = stats.direct;
    for (size_t i = 0; i < CARRY_PATCH_REASONS; i++) {
        now.unpatched += stats.unpatched[i];
        if (stats.unpatched[i])
            now.reason = (enum carry_patch_reason)i;
    }
    return now;
}

/* Patches the sites of all cases in one commit; each site must then have the form that is timed. */
static int patch_cases(const struct patch_bench *bench) {
    struct carry_patch patch;
    size_t sites = 0, calls = 0;
    struct shortfall before = count_shortfall();
    carry_patch_begin(&patch);
    for (size_t i = 0; i < bench->case_count; i++) {
        const struct patch_text *text = &bench->texts[i];
        patch_text_set(text, &patch, text->shape.form == FORM_BRANCH_ON);
        sites += text->record_count ? text->shape.sites : 0;
        calls += text->shape.form == FORM_PATCHED_CALL ? text->shape.sites : 0;
    }
    int error = carry_patch_commit(&patch);
    struct shortfall after = count_shortfall();
    if (!error && after.unpatched + sites == before.unpatched &&
        after.called == before.called + calls)
        return STATUS_CLEAN;
    command_error("sites could not be patched: %s", error ? "the commit failed"
                                                    : after.called > before.called + calls
                                                        ? "they are still calls, not instructions"
                                                        : carry_patch_reason_name(after.reason));
    return STATUS_BAD;
}

/* --- Measuring --- */

static uint32_t run_text(const void *context, size_t cell, size_t subject, size_t first,
                         size_t calls) {
    const struct patch_bench *bench = context;
    (void)cell, (void)first;
    bench->texts[subject].run(calls);
    return 0;
}

static size_t as_many_as_fit(const void *context, size_t cell) {
    (void)context, (void)cell;
    return 0;
}

static void show_patch_progress(size_t done, size_t total) {
    (void)total;
    if (progress_due)
        progress_draw(done);
}

/* Times all cases in one cell of a plan, so that any two can be compared. */
static bool measure_cases(struct patch_bench *bench, const struct effort *effort) {
    bench->plan = (struct bench_plan){
        .cells = 1,
        .subjects = bench->case_count,
        .rounds = effort->rounds,
        .sample_ns = effort->sample_ns,
        .seconds = effort->seconds,
        .run = run_text,
        .fixed_calls = as_many_as_fit,
        .context = bench,
        .progress = show_patch_progress,
    };
    progress_begin_steps(effort->rounds);
    bench->samples = bench_measure(&bench->plan);
    progress_end();
    if (bench->samples)
        bench_noise_add_plan(&bench->noise, &bench->plan, effort->rounds, bench->samples);
    return bench->samples != NULL;
}

/* Measures commits, then cases. Commits come first, as they are made in child processes, which must
 * not inherit a commit of their parent. */
static int measure_sites(struct patch_bench *bench, const struct effort *effort) {
    if (!make_commit_texts(bench) ||
        !commit_measure(&bench->commits, bench->commit_texts, &bench->commit_texts[COMMIT_WORKS],
                        &effort->commits) ||
        !make_texts(bench))
        return no_memory();
    commit_add_noise(&bench->commits, &bench->noise);
    int status = patch_cases(bench);
    if (status == STATUS_CLEAN && !measure_cases(bench, effort))
        return no_memory();
    if (status == STATUS_CLEAN && bench->commits.failed) {
        command_error("a process that measured commits has died");
        return STATUS_BAD;
    }
    return status;
}

/* Times the applications, also on architectures without sites. */
static int measure_apps(struct patch_bench *bench, const struct effort *effort) {
    bench->apps.plan = (struct bench_plan){
        .rounds = effort->rounds,
        .sample_ns = effort->sample_ns,
        .seconds = effort->app_seconds,
        .progress = show_patch_progress,
    };
    progress_begin_steps(effort->rounds * PATCH_APPS);
    const int status = patch_apps_measure(&bench->apps);
    progress_end();
    if (status == STATUS_CLEAN)
        bench_noise_add_plan(&bench->noise, &bench->apps.plan, effort->rounds, bench->apps.samples);
    return status;
}

static int run_patch_bench(struct patch_bench *bench, const struct effort *effort, bool json) {
    int status = patch_text_supported() ? measure_sites(bench, effort) : STATUS_CLEAN;
    if (status == STATUS_CLEAN)
        status = measure_apps(bench, effort);
    if (status != STATUS_CLEAN)
        return status;
    if (json)
        patch_print_json(bench);
    else
        patch_print_text(bench);
    return STATUS_CLEAN;
}

int bench_patch(int argc, char **argv) {
    static struct patch_bench bench;
    uint64_t sites = 0, batch = 0;
    bool is_quick = false, json = false;
    const struct option_row rows[] = {
        {"sites", .number = &sites, OPTION_RANGE(1, SITES_MAX)},
        {"batch", .number = &batch, OPTION_RANGE(1, SITES_MAX)},
        {"quick", .flag = &is_quick},
        {"json", 'J', .flag = &json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_NONE, &status))
        return status;
    const struct effort *effort = is_quick ? &quick : &normal;
    bench.cold_sites = sites ? sites : effort->cold_sites;
    bench.batch_sites = batch ? batch : effort->batch_sites;
    fflush(stdout);
    status = run_patch_bench(&bench, effort, json);
    release_texts(bench.texts, bench.case_count);
    release_texts(bench.commit_texts, COMMIT_WORKS + 1);
    free(bench.samples);
    free(bench.apps.samples);
    return status;
}
