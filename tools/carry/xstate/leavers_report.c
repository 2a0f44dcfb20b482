/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "xstate/leavers_report.h"

#include "common/json.h"
#include "common/text.h"

static uint64_t dirty_of(const struct leavers_function *function) {
    return function->ymm + function->zmm;
}

static size_t shown_count(const struct leavers_options *options, size_t count) {
    return count < options->show ? count : options->show;
}

/* --- As text --- */

#define CALLERS_COLUMN 46

static void print_name(FILE *stream, const struct leavers_function *function) {
    text_print_clean(stream, function->function);
    fputs(", ", stream);
    text_print_clean(stream, text_last_part(function->object));
    fputc('\n', stream);
}

static void print_callers(FILE *stream, const struct leavers_findings *findings,
                          const struct leavers_function *function) {
    const char *between = "called by ";
    fprintf(stream, "%*s", CALLERS_COLUMN, "");
    for (size_t i = 0; i < function->count; i++) {
        fputs(between, stream);
        text_print_clean(stream, text_last_part(findings->calls[function->first + i].names.caller));
        between = ", ";
    }
    fputc('\n', stream);
}

static void print_call_share(FILE *stream, uint64_t part, uint64_t calls) {
    char part_text[TEXT_SIZE], calls_text[TEXT_SIZE];
    fprintf(stream, "%12s %12s %6.1f %%", text_count(part_text, part),
            text_count(calls_text, calls), 100 * (double)part / (double)calls);
}

static void print_more(FILE *stream, size_t count, size_t all) {
    if (count < all)
        fprintf(stream, "%12s and %zu more; --show lists them\n", "", all - count);
}

static void print_leavers(const struct leavers_options *options,
                          const struct leavers_findings *findings, FILE *stream) {
    char zmm[TEXT_SIZE];
    size_t count = shown_count(options, findings->leavers);
    if (!findings->leavers)
        return;
    fputs("\n  left dirty     of calls                ZMM  function, object\n", stream);
    for (size_t i = 0; i < count; i++) {
        const struct leavers_function *function = &findings->functions[i];
        print_call_share(stream, dirty_of(function), function->calls);
        fprintf(stream, " %9s  ", text_count(zmm, function->zmm));
        print_name(stream, function);
        print_callers(stream, findings, function);
    }
    print_more(stream, count, findings->leavers);
}

static void print_victims(const struct leavers_options *options,
                          const struct leavers_findings *findings, FILE *stream) {
    size_t count = shown_count(options, findings->victims);
    if (!findings->victims)
        return;
    fputs("\ncalled dirty     of calls                     function, object\n", stream);
    for (size_t i = 0; i < count; i++) {
        const struct leavers_function *function = &findings->called_dirty[i];
        print_call_share(stream, function->called_dirty, function->calls);
        fprintf(stream, "%12s", "");
        print_name(stream, function);
        print_callers(stream, findings, function);
    }
    print_more(stream, count, findings->victims);
}

static void print_rest(const struct leavers_findings *findings, FILE *stream) {
    char count[TEXT_SIZE];
    if (findings->victims)
        fputs("Calls with dirty uppers come from code that itself uses ymm or zmm registers, or\n"
              "follow a leaver that no hook sees; they do not count against the functions.\n",
              stream);
    if (findings->sum.unknown)
        fprintf(stream, "%s call%s returned without a record of the start.\n",
                text_count(count, findings->sum.unknown), text_plural(findings->sum.unknown));
    if (findings->refused)
        fprintf(stream, "In %s process%s the system refused hooks.\n",
                text_count(count, findings->refused), findings->refused == 1 ? "" : "es");
    if (findings->lost)
        fprintf(stream, "%s function%s did not fit into the table.\n",
                text_count(count, findings->lost), text_plural(findings->lost));
}

static void print_leavers_text(const struct leavers_options *options,
                               const struct leavers_findings *findings, FILE *stream) {
    char calls[TEXT_SIZE], functions[TEXT_SIZE], leavers[TEXT_SIZE];
    text_count(calls, findings->sum.calls);
    text_count(functions, findings->functions_count);
    print_leavers(options, findings, stream);
    print_victims(options, findings, stream);
    fputc('\n', stream);
    if (findings->leavers)
        fprintf(stream, "Leavers: %s of %s function%s returned with dirty uppers, in %s call%s.\n",
                text_count(leavers, findings->leavers), functions,
                text_plural(findings->functions_count), calls, text_plural(findings->sum.calls));
    else
        fprintf(stream, "No leaver seen in %s call%s of %s function%s.\n", calls,
                text_plural(findings->sum.calls), functions,
                text_plural(findings->functions_count));
    print_rest(findings, stream);
}

/* --- As JSON --- */

static json_t *callers_json(const struct leavers_findings *findings,
                            const struct leavers_function *function) {
    json_t *list = json_array();
    for (size_t i = 0; i < function->count; i++) {
        const struct leavers_call *call = &findings->calls[function->first + i];
        json_t *json = json_object();
        json_set_name(json, "object", call->names.caller);
        json_object_set_new(json, "calls", json_number(call->row->calls));
        json_object_set_new(json, "dirty", json_number(call->row->ymm + call->row->zmm));
        json_object_set_new(json, "called_dirty", json_number(call->row->called_dirty));
        json_array_append_new(list, json);
    }
    return list;
}

static void set_counts(json_t *json, const struct leavers_function *counts) {
    json_object_set_new(json, "calls", json_number(counts->calls));
    json_object_set_new(json, "dirty", json_number(dirty_of(counts)));
    json_object_set_new(json, "ymm", json_number(counts->ymm));
    json_object_set_new(json, "zmm", json_number(counts->zmm));
    json_object_set_new(json, "called_dirty", json_number(counts->called_dirty));
    json_object_set_new(json, "unknown", json_number(counts->unknown));
}

static void print_rows_json(const struct leavers_findings *findings,
                            const struct leavers_function *functions, size_t count,
                            const char *type, FILE *stream) {
    for (size_t i = 0; i < count; i++) {
        const struct leavers_function *function = &functions[i];
        json_t *json = json_object();
        json_object_set_new(json, "type", json_string(type));
        json_object_set_new(json, "function", json_name(function->function));
        json_set_name(json, "object", function->object);
        set_counts(json, function);
        json_object_set_new(json, "callers", callers_json(findings, function));
        json_print(stream, json);
    }
}

static void print_leavers_json(const struct leavers_options *options,
                               const struct leavers_findings *findings, FILE *stream) {
    print_rows_json(findings, findings->functions, shown_count(options, findings->leavers),
                    "leaver", stream);
    print_rows_json(findings, findings->called_dirty, shown_count(options, findings->victims),
                    "called_dirty", stream);
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string("summary"));
    json_object_set_new(json, "leavers", json_number(findings->leavers));
    json_object_set_new(json, "victims", json_number(findings->victims));
    json_object_set_new(json, "functions", json_number(findings->functions_count));
    json_object_set_new(json, "processes", json_number(findings->processes));
    json_object_set_new(json, "refused", json_number(findings->refused));
    json_object_set_new(json, "lost", json_number(findings->lost));
    set_counts(json, &findings->sum);
    json_print(stream, json);
}

void leavers_report(const struct leavers_options *options, const struct leavers_findings *findings,
                    FILE *stream) {
    if (options->json)
        print_leavers_json(options, findings, stream);
    else
        print_leavers_text(options, findings, stream);
}
