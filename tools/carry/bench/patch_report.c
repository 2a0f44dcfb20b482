/* SPDX-License-Identifier: MIT */
/* Prints the reports of `carry bench patch`, as tables and as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include <carry/cpu.h>

#include "bench/bench_patch.h"
#include "bench/noise.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/text.h"

/* The targets of the library, printed beside the figures. */
#define MOST_RATIO     1.02
#define MOST_BRANCH_NS 0.1
#define MOST_FLIP      5 /* as a multiple of the time of a synchronisation of all cores */

/*
 * The target for commits of many sites, as a multiple of the same commit without a thread. That
 * writes each page once. An exchange copies each page twice, writes it to memory that the system
 * has just allocated, compares it, and moves it.
 */
#define MOST_BATCH 4

static const char *const delay_names[DELAYS] = {"sites", "elsewhere"};
static const char *const delay_titles[DELAYS] = {"runs them", "elsewhere"};

/*
 * Returns the nanoseconds that a branch adds to the form without a branch: the text of the inlined
 * call. A difference below zero is noise.
 */
static double added_ns(const struct patch_bench *bench, int number, size_t cell) {
    return fmax(0, patch_stats(bench, number).median -
                       patch_stats(bench, patch_case(bench, FORM_INLINED, cell)).median);
}

/* --- As text --- */

static void print_section_title(const char *title, const char *rest) {
    printf("\n%s%s%s%s\n", text_colour(COLOUR_BOLD), title, text_colour(COLOUR_NONE), rest);
}

static void print_columns(const struct patch_bench *bench) {
    char cold[TEXT_SIZE];
    printf("%s  %-18s", text_colour(COLOUR_FAINT), "");
    for (size_t cell = 0; cell < CELL_COLD; cell++)
        printf(" %6s       ", patch_cells[cell].title);
    printf("%s cold%s\n", text_count(cold, bench->cold_sites), text_colour(COLOUR_NONE));
}

static void print_call(const struct patch_bench *bench, int number, size_t cell) {
    char ns[TEXT_SIZE], times[TEXT_SIZE];
    text_measure(ns, patch_stats(bench, number).median);
    text_times(times, patch_ratio(bench, number, patch_case(bench, FORM_DIRECT, cell)));
    printf(" %6s %6s", ns, times);
}

static void print_branch(const struct patch_bench *bench, int number, size_t cell) {
    char ns[TEXT_SIZE], added[TEXT_SIZE];
    text_measure(ns, patch_stats(bench, number).median);
    text_added(added, added_ns(bench, number, cell));
    printf(" %6s %6s", ns, added);
}

static void print_form_row(const struct patch_bench *bench, const char *title, enum patch_form form,
                           void (*print)(const struct patch_bench *, int, size_t)) {
    printf("  %-18s", title);
    for (size_t cell = 0; cell < PATCH_CELLS; cell++) {
        int number = patch_case(bench, form, cell);
        if (number < 0)
            printf(" %6s %6s", "-", "");
        else
            print(bench, number, cell);
    }
    putchar('\n');
}

static void print_cases(const struct patch_bench *bench) {
    print_section_title("calls", ": ns each, and as a multiple of a direct call");
    print_columns(bench);
    for (size_t form = 0; !patch_form_is_branch((enum patch_form)form); form++)
        if (patch_text_has((enum patch_form)form))
            print_form_row(bench, patch_forms[form].title, (enum patch_form)form, print_call);
    print_section_title("branches",
                        ": ns with one instruction after each, and what the branch adds");
    print_columns(bench);
    print_form_row(bench, "none", FORM_INLINED, print_branch);
    for (size_t form = FORM_FLAG; form < FORM_COUNT; form++)
        print_form_row(bench, patch_forms[form].title, (enum patch_form)form, print_branch);
}

static void print_commit(const struct patch_bench *bench, const struct commit_result *result,
                         size_t work) {
    char text[TEXT_SIZE];
    if (!result->measured) {
        printf("%16s", "-");
        return;
    }
    printf("%10s %-5s", text_measure(text, result->ns.median / 1e3), result->guard);
    if (bench->commit_texts[work].shape.sites != 1)
        printf(" %9s", text_measure(text, result->ns.median / (double)bench->batch_sites));
}

static void print_synchronisation(const struct bench_stats ns[2]) {
    char alone[TEXT_SIZE], beside[TEXT_SIZE];
    printf("  synchronising all cores: %s us alone, %s us beside a thread; a live\n"
           "  commit needs one, or two where it does not exchange pages\n",
           text_measure(alone, ns[0].median / 1e3), text_measure(beside, ns[1].median / 1e3));
}

static void print_commits(const struct patch_bench *bench) {
    static const char *const titles[] = {"alone", "beside one"};
    char sites[TEXT_SIZE];
    print_section_title("commits", ": us each and the guard, alone and beside a thread");
    printf("%s%33s%16s%10s calls%15s%s\n", text_colour(COLOUR_FAINT), commit_works[0].title,
           commit_works[1].title, text_count(sites, bench->batch_sites), "ns a site",
           text_colour(COLOUR_NONE));
    for (size_t way = 0; way < COMMIT_WAYS; way++) {
        for (size_t thread = 0; thread < 2; thread++) {
            printf("  %-9s%-11s", thread ? commit_ways[way].guard : commit_ways[way].backend,
                   titles[thread]);
            for (size_t work = 0; work < COMMIT_WORKS; work++)
                print_commit(bench, &bench->commits.of[way][work][thread], work);
            putchar('\n');
        }
    }
    print_synchronisation(bench->commits.synchronisation);
}

static void print_part_of_delay(const struct commit_delay *delay, const struct bench_stats *part) {
    char text[TEXT_SIZE];
    if (!delay->measured)
        printf("%9s", "-");
    else if (commit_delay_is_lost(part))
        printf("%9s", "noisy");
    else
        printf("%9s", text_measure(text, fmax(0, part->median) / 1e3));
}

static void print_delay(const struct commit_delay *delay) {
    print_part_of_delay(delay, &delay->longest);
    print_part_of_delay(delay, &delay->total);
}

static void print_delays(const struct patch_bench *bench) {
    char sites[TEXT_SIZE];
    print_section_title("delays", ": us that a commit delays another thread, longest and total");
    printf("%s%40s%18s%12s calls%s\n", text_colour(COLOUR_FAINT), commit_works[0].title,
           commit_works[1].title, text_count(sites, bench->batch_sites), text_colour(COLOUR_NONE));
    for (size_t way = 0; way < COMMIT_WAYS; way++) {
        for (size_t of = 0; of < DELAYS; of++) {
            printf("  %-9s%-11s", of ? commit_ways[way].guard : commit_ways[way].backend,
                   delay_titles[of]);
            for (size_t work = 0; work < COMMIT_WORKS; work++)
                print_delay(&bench->commits.delays[way][work][of]);
            putchar('\n');
        }
    }
}

/* Ends the line of a target, which shows whether the target was missed. The exit status does not
 * depend on that. */
static void end_target(double measured, double most) {
    printf("%s%s%s\n", text_colour(measured > most ? COLOUR_BOLD : COLOUR_NONE),
           measured > most ? ": missed" : "", text_colour(COLOUR_NONE));
}

static void print_target_ratio(const struct patch_bench *bench, enum patch_form form,
                               enum patch_form base, size_t cell) {
    char text[TEXT_SIZE];
    double ratio = patch_ratio(bench, patch_case(bench, form, cell), patch_case(bench, base, cell));
    printf("  %s: %s %s (at most %.2f), %s", patch_forms[form].title, text_times(text, ratio),
           patch_forms[base].title, MOST_RATIO, patch_cells[cell].title);
    end_target(ratio, MOST_RATIO);
}

/* Prints the targets of commits for the first way that works: the library's default. */
static void print_target_commits(const struct patch_bench *bench) {
    size_t way = 0;
    while (way < COMMIT_WAYS && !bench->commits.of[way][0][1].measured)
        way++;
    if (way == COMMIT_WAYS)
        return;
    const char *name = commit_ways[way].guard;
    const double synchronisation = bench->commits.synchronisation[1].median;
    char text[TEXT_SIZE], most[TEXT_SIZE];
    for (size_t work = 0; work < COMMIT_WORKS; work++) {
        const struct commit_result *of = bench->commits.of[way][work];
        const bool is_one = bench->commit_texts[work].shape.sites == 1;
        const double sites = is_one ? 1 : (double)bench->batch_sites;
        const double ns = of[1].ns.median / sites;
        const double most_ns =
            is_one ? MOST_FLIP * synchronisation : MOST_BATCH * of[0].ns.median / sites;
        if (is_one)
            printf("  commit of %s with %s, beside a thread:\n"
                   "    %s us (at most %s: %d synchronisations)",
                   commit_works[work].title, name, text_measure(text, ns / 1e3),
                   text_measure(most, most_ns / 1e3), MOST_FLIP);
        else
            printf("  commit of %zu calls with %s, beside a thread:\n"
                   "    %s ns a site (at most %s: %d times a commit alone)",
                   bench->batch_sites, name, text_measure(text, ns), text_measure(most, most_ns),
                   MOST_BATCH);
        end_target(ns, most_ns);
    }
}

static void print_targets(const struct patch_bench *bench) {
    char text[TEXT_SIZE];
    print_section_title("targets", "");
    for (size_t cell = CELL_ONE; cell <= CELL_MANY; cell++) {
        print_target_ratio(bench, FORM_PATCHED_CALL, FORM_DIRECT, cell);
        print_target_ratio(bench, FORM_PATCHED_INLINE, FORM_INLINED, cell);
        const double added = added_ns(bench, patch_case(bench, FORM_BRANCH_OFF, cell), cell);
        printf("  a branch that is off: %s ns (at most %.1f), %s", text_added(text, added),
               MOST_BRANCH_NS, patch_cells[cell].title);
        end_target(added, MOST_BRANCH_NS);
    }
    print_target_commits(bench);
}

static void print_sites(const struct patch_bench *bench) {
    printf("Medians of %zu rounds\n", bench->plan.rounds);
    print_cases(bench);
    print_commits(bench);
    print_delays(bench);
    print_targets(bench);
}

void patch_print_text(const struct patch_bench *bench) {
    bench_machine_print();
    if (patch_text_supported())
        print_sites(bench);
    else
        printf("There are no sites on %s: operations are calls through a pointer, keys are flags\n",
               carry_cpu_arch());
    patch_apps_print_text(&bench->apps);
    bench_noise_print(&bench->noise);
}

/* --- As JSON --- */

static json_t *stats_json(struct bench_stats ns) {
    return json_pack("{s:f, s:f, s:f, s:f}", "ns", ns.median, "min", ns.min, "q1", ns.q1, "q3",
                     ns.q3);
}

/* Sets the ratio of a case to form `base` in the same cell. */
static void set_ratio(json_t *object, const char *key, const struct patch_bench *bench, int number,
                      enum patch_form base) {
    int other = patch_case(bench, base, bench->cell_of[number]);
    json_object_set_new(object, key, json_real(patch_ratio(bench, number, other)));
}

static json_t *case_json(const struct patch_bench *bench, int number) {
    const struct patch_shape *shape = &bench->texts[number].shape;
    const size_t cell = bench->cell_of[number];
    json_t *object = stats_json(patch_stats(bench, number));
    json_object_set_new(object, "form", json_string(patch_forms[shape->form].name));
    json_object_set_new(object, "cell", json_string(patch_cells[cell].name));
    json_object_set_new(object, "sites", json_integer((json_int_t)shape->sites));
    set_ratio(object, "to_inlined", bench, number, FORM_INLINED);
    if (patch_form_is_branch(shape->form))
        json_object_set_new(object, "added_ns", json_real(added_ns(bench, number, cell)));
    else
        set_ratio(object, "to_direct", bench, number, FORM_DIRECT);
    return object;
}

static json_t *commit_json(const struct patch_bench *bench, size_t way, size_t work, bool thread) {
    const struct commit_result *result = &bench->commits.of[way][work][thread];
    const size_t sites = bench->commit_texts[work].shape.sites;
    json_t *object =
        json_pack("{s:s, s:s, s:b, s:s, s:b, s:I}", "backend", commit_ways[way].backend, "chosen",
                  commit_ways[way].guard, "available", result->measured, "work",
                  commit_works[work].name, "thread", thread, "sites", (json_int_t)sites);
    if (!result->measured)
        return object;
    json_t *times = stats_json(result->ns);
    json_object_update(object, times);
    json_decref(times);
    json_object_set_new(object, "guard", json_string(result->guard));
    json_object_set_new(object, "ns_a_site", json_real(result->ns.median / (double)sites));
    return object;
}

static json_t *cases_json(const struct patch_bench *bench) {
    json_t *list = json_array();
    for (size_t i = 0; i < bench->case_count; i++)
        json_array_append_new(list, case_json(bench, (int)i));
    return list;
}

static json_t *commits_json(const struct patch_bench *bench) {
    json_t *list = json_array();
    for (size_t way = 0; way < COMMIT_WAYS && bench->case_count; way++)
        for (size_t work = 0; work < COMMIT_WORKS; work++)
            for (int thread = 0; thread < 2; thread++)
                json_array_append_new(list, commit_json(bench, way, work, thread != 0));
    return list;
}

/* Sets a part of a delay, unless noise hides it. */
static void set_delay(json_t *object, const char *key, const struct bench_stats *part) {
    const struct bench_stats shown = {
        .median = fmax(0, part->median),
        .q1 = fmax(0, part->q1),
        .q3 = fmax(0, part->q3),
        .min = fmax(0, part->min),
    };
    if (!commit_delay_is_lost(part))
        json_object_set_new(object, key, stats_json(shown));
}

static json_t *delay_json(const struct patch_bench *bench, size_t way, size_t work, size_t of) {
    const struct commit_delay *delay = &bench->commits.delays[way][work][of];
    json_t *object = json_pack(
        "{s:s, s:s, s:b, s:s, s:s, s:I}", "backend", commit_ways[way].backend, "chosen",
        commit_ways[way].guard, "available", delay->measured, "work", commit_works[work].name,
        "thread", delay_names[of], "sites", (json_int_t)bench->commit_texts[work].shape.sites);
    if (!delay->measured)
        return object;
    set_delay(object, "longest", &delay->longest);
    set_delay(object, "total", &delay->total);
    return object;
}

static json_t *delays_json(const struct patch_bench *bench) {
    json_t *list = json_array();
    for (size_t way = 0; way < COMMIT_WAYS && bench->case_count; way++)
        for (size_t work = 0; work < COMMIT_WORKS; work++)
            for (size_t of = 0; of < DELAYS; of++)
                json_array_append_new(list, delay_json(bench, way, work, of));
    return list;
}

static json_t *synchronisation_json(const struct patch_bench *bench) {
    json_t *list = json_array();
    for (size_t thread = 0; thread < 2 && bench->case_count; thread++)
        json_array_append_new(list, stats_json(bench->commits.synchronisation[thread]));
    return list;
}

void patch_print_json(const struct patch_bench *bench) {
    json_t *object =
        json_pack("{s:s, s:o, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "bench", "patch", "machine",
                  bench_machine_json(), "sites", patch_text_supported(), "rounds",
                  (json_int_t)bench->plan.rounds, "noise", bench_noise_json(&bench->noise), "cases",
                  cases_json(bench), "commits", commits_json(bench), "delays", delays_json(bench),
                  "synchronisation", synchronisation_json(bench), "applications",
                  patch_apps_json(&bench->apps));
    json_print_report(object);
}
