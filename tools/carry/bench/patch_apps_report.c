/* SPDX-License-Identifier: MIT */
/* Prints the table of applications of `carry bench patch`, as text and as JSON. */
#include <math.h>
#include <stdio.h>

#include "bench/patch_apps.h"
#include "common/text.h"

static const struct {
    enum patch_app_form form;
    const char *title;
} columns[APP_FORMS] = {
    {APP_COMPILED_IN, "compiled in"},
    {APP_PATCHED, "patched"},
    {APP_POINTERS, "pointers, flags"},
};

static bool is_form_timed(const struct patch_app_results *results, enum patch_app_form form) {
    return form < results->plan.subjects;
}

static void print_form(const struct patch_app_results *results, size_t app,
                       enum patch_app_form form) {
    char median[TEXT_SIZE], low[TEXT_SIZE], high[TEXT_SIZE], interval[3 * TEXT_SIZE];
    if (!is_form_timed(results, form)) {
        printf("%21s", "no sites");
        return;
    }
    const struct bench_stats ns = patch_app_stats(results, app, form);
    snprintf(interval, sizeof interval, "%s (%s-%s)", text_measure(median, ns.median),
             text_measure(low, ns.low), text_measure(high, ns.high));
    printf("%21s", interval);
}

/* Writes how the patched form compares with form `base`, titled `title`. */
static void write_comparison(FILE *out, const struct patch_app_results *results, size_t app,
                             enum patch_app_form base, const char *title) {
    char percent[TEXT_SIZE];
    const struct bench_stats patched = patch_app_stats(results, app, APP_PATCHED);
    const struct bench_stats other = patch_app_stats(results, app, base);
    const double ratio = patch_app_ratio(results, app, APP_PATCHED, base);
    if (patched.low <= other.high && other.low <= patched.high)
        fprintf(out, "no difference from %s that can be measured", title);
    else
        fprintf(out, "%s%% %s than %s", text_measure(percent, 100 * fabs(ratio - 1)),
                ratio < 1 ? "less" : "more", title);
}

static void print_comparisons(const struct patch_app_results *results, size_t app) {
    struct text_block block;
    text_block_begin(&block, stdout);
    fprintf(block.out, "%s, patched: ", patch_apps[app]->title);
    write_comparison(block.out, results, app, APP_POINTERS, "pointers and flags");
    fputs("; ", block.out);
    write_comparison(block.out, results, app, APP_COMPILED_IN, "compiled in");
    fputc('\n', block.out);
    text_block_end(&block, 2);
}

void patch_apps_print_text(const struct patch_app_results *results) {
    printf("\n%sapplications%s: ns a packet or request, and the 95 %% interval of the median\n",
           text_colour(COLOUR_BOLD), text_colour(COLOUR_NONE));
    printf("%s%-14s", text_colour(COLOUR_FAINT), "");
    for (size_t i = 0; i < APP_FORMS; i++)
        printf("%21s", columns[i].title);
    printf("%s\n", text_colour(COLOUR_NONE));
    for (size_t app = 0; app < PATCH_APPS; app++) {
        printf("  %-12s", patch_apps[app]->title);
        for (size_t i = 0; i < APP_FORMS; i++)
            print_form(results, app, columns[i].form);
        putchar('\n');
    }
    for (size_t app = 0; app < PATCH_APPS && results->patched; app++)
        print_comparisons(results, app);
}

/* --- As JSON --- */

static json_t *form_json(const struct patch_app_results *results, size_t app,
                         enum patch_app_form form) {
    const struct bench_stats ns = patch_app_stats(results, app, form);
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}",
                     "application", patch_apps[app]->name, "unit", patch_apps[app]->unit, "form",
                     patch_app_form_names[form], "calls", (json_int_t)patch_apps[app]->calls,
                     "branches", (json_int_t)patch_apps[app]->branches, "ns", ns.median, "min",
                     ns.min, "q1", ns.q1, "q3", ns.q3, "low", ns.low, "high", ns.high,
                     "to_compiled_in", patch_app_ratio(results, app, form, APP_COMPILED_IN),
                     "to_pointers", patch_app_ratio(results, app, form, APP_POINTERS));
}

json_t *patch_apps_json(const struct patch_app_results *results) {
    json_t *list = json_array();
    for (size_t app = 0; app < PATCH_APPS; app++)
        for (size_t i = 0; i < APP_FORMS; i++)
            if (is_form_timed(results, columns[i].form))
                json_array_append_new(list, form_json(results, app, columns[i].form));
    return list;
}
