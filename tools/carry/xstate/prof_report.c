/* SPDX-License-Identifier: MIT */
#include "xstate/prof_report.h"

#include <inttypes.h>

#include "common/json.h"
#include "common/text.h"

static bool is_listed(const struct prof_report *report, size_t i) {
    const struct prof_options *options = report->options;
    return options->all || (report->functions->rows[i].counts.dirty && i < options->show);
}

/* --- As text --- */

static double percent_of(uint64_t part, uint64_t all) {
    return all ? 100 * (double)part / (double)all : 0;
}

static void print_function(FILE *stream, const struct function *function) {
    char all[TEXT_SIZE], dirty[TEXT_SIZE], zmm[TEXT_SIZE];
    const struct samples_counts *counts = &function->counts;
    fprintf(stream, "%9s %9s %6.1f %% %8s  ", text_count(dirty, counts->dirty),
            text_count(all, counts->all), percent_of(counts->dirty, counts->all),
            text_count(zmm, counts->zmm));
    if (function->name)
        text_print_clean(stream, function->name);
    else
        fprintf(stream, "+0x%" PRIx64, function->address);
    fputs(", ", stream);
    text_print_clean(stream, text_last_part(function->object->path));
    fputc('\n', stream);
}

static void print_functions(const struct prof_report *report, FILE *stream) {
    const struct functions *functions = report->functions;
    size_t hidden = 0;
    fputs("    dirty of samples                ZMM  function, object\n", stream);
    for (size_t i = 0; i < functions->count; i++) {
        if (is_listed(report, i))
            print_function(stream, &functions->rows[i]);
        else
            hidden += functions->rows[i].counts.dirty != 0;
    }
    if (hidden)
        fprintf(stream, "%9s and %zu more; --all lists them\n", "", hidden);
    fputc('\n', stream);
}

static void print_prof_verdict(const struct prof_report *report, FILE *stream) {
    const struct samples_counts *counts = &report->samples->counts;
    char all[TEXT_SIZE], dirty[TEXT_SIZE];
    text_count(all, counts->all);
    text_count(dirty, counts->dirty);
    if (!counts->all)
        fputs("No sample: no thread was running at any of them. Sample for longer, or at a\n"
              "higher --rate.\n",
              stream);
    else if (!counts->dirty)
        fprintf(stream, "Clean: uppers were in use in none of %s sample%s.\n", all,
                text_plural(counts->all));
    else
        fprintf(stream,
                "Dirty: uppers were in use in %s of %s sample%s (%.1f %%).\n"
                "Functions that compute with ymm or zmm registers may use uppers until they\n"
                "execute vzeroupper. Other functions were called with dirty uppers: 'carry xstate\n"
                "leavers' finds the code that left them, 'carry xstate cost' measures the cost.\n",
                dirty, all, text_plural(counts->all), percent_of(counts->dirty, counts->all));
    if (report->samples->lost)
        fprintf(stream, "%s sample%s could not be attributed.\n",
                text_count(all, report->samples->lost), text_plural(report->samples->lost));
}

static void print_prof_text(const struct prof_report *report, FILE *stream) {
    const struct trace_result *result = report->result;
    char all[TEXT_SIZE], threads[TEXT_SIZE], processes[TEXT_SIZE];
    fprintf(stream, "\n%s sample%s in %.1f s, of %s thread%s in %s process%s\n\n",
            text_count(all, report->samples->counts.all), text_plural(report->samples->counts.all),
            result->seconds, text_count(threads, result->threads), text_plural(result->threads),
            text_count(processes, result->processes), result->processes == 1 ? "" : "es");
    if (report->samples->counts.dirty || (report->options->all && report->functions->count))
        print_functions(report, stream);
    print_prof_verdict(report, stream);
}

/* --- As JSON --- */

static void set_counts(json_t *json, const struct samples_counts *counts) {
    json_object_set_new(json, "samples", json_number(counts->all));
    json_object_set_new(json, "dirty", json_number(counts->dirty));
    json_object_set_new(json, "ymm", json_number(counts->ymm));
    json_object_set_new(json, "zmm", json_number(counts->zmm));
}

static void print_function_json(FILE *stream, const struct function *function) {
    json_t *json = json_object();
    json_object_set_new(json, "type", json_string("function"));
    json_object_set_new(json, "function", json_name(function->name));
    json_set_name(json, "object", function->object->path);
    json_object_set_new(json, "address", json_number(function->address));
    set_counts(json, &function->counts);
    json_print(stream, json);
}

static void print_prof_json(const struct prof_report *report, FILE *stream) {
    const struct trace_result *result = report->result;
    json_t *json = json_object();
    for (size_t i = 0; i < report->functions->count; i++)
        if (is_listed(report, i))
            print_function_json(stream, &report->functions->rows[i]);
    json_object_set_new(json, "type", json_string("summary"));
    set_counts(json, &report->samples->counts);
    json_object_set_new(json, "lost", json_number(report->samples->lost));
    json_object_set_new(json, "functions", json_number(report->functions->count));
    json_object_set_new(json, "threads", json_number(result->threads));
    json_object_set_new(json, "processes", json_number(result->processes));
    json_object_set_new(json, "seconds", json_real(result->seconds));
    json_print(stream, json);
}

void prof_report(const struct prof_report *report, FILE *stream) {
    if (report->options->json)
        print_prof_json(report, stream);
    else
        print_prof_text(report, stream);
}
