/* SPDX-License-Identifier: MIT */
#include "check/check_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/source.h"
#include "common/command.h"
#include "common/text.h"

bool check_print_open(struct check_print *print, const struct check_options *options, bool many) {
    *print = (struct check_print){.options = options,
                                  .many = many,
                                  .total = carry_capture_summary_create(),
                                  .empty = carry_capture_summary_create()};
    return print->total && print->empty;
}

void check_print_close(struct check_print *print) {
    for (size_t i = 0; i < print->named_count; i++)
        free(print->named[i]);
    carry_capture_summary_free(print->total);
    carry_capture_summary_free(print->empty);
}

static bool has_columns(const struct check_options *options) {
    return options->format == CHECK_TSV || options->format == CHECK_CSV;
}

static enum columns columns_format(const struct check_options *options) {
    return options->format == CHECK_CSV ? COLUMNS_CSV : COLUMNS_TSV;
}

void check_print_header(const struct check_print *print) {
    if (!has_columns(print->options) || print->options->quiet)
        return;
    if (print->options->bad_only)
        report_finding_columns_header(columns_format(print->options));
    else
        report_columns_header(columns_format(print->options));
}

void check_print_finding(const struct check_print *print, const char *path,
                         const struct carry_capture_finding *finding) {
    switch (print->options->format) {
    case CHECK_TEXT:
        report_finding_text(stdout, print->many ? path : NULL, finding);
        break;
    case CHECK_JSON:
        report_finding_json(path, finding);
        break;
    case CHECK_TSV:
    case CHECK_CSV:
        report_finding_columns(path, finding, columns_format(print->options));
        break;
    }
}

/* --- A capture --- */

static int capture_status(const struct check_options *options, const struct report *report) {
    if (source_is_damaged(report->error.code))
        return STATUS_DAMAGED;
    if (report->error.code != CARRY_OK)
        return STATUS_ERROR;
    if (carry_capture_total(report->summary, report->wrong))
        return STATUS_BAD;
    if (options->strict && !carry_capture_is_complete(report->summary, report->wrong))
        return STATUS_UNCHECKED;
    return STATUS_CLEAN;
}

static void name_capture(struct check_print *print, const char *path) {
    print->not_clean++;
    char *copy = print->named_count < CHECK_PRINT_NAMED ? strdup(path) : NULL;
    if (copy)
        print->named[print->named_count++] = copy;
}

static int count_capture(struct check_print *print, const struct report *report) {
    int status = capture_status(print->options, report);
    print->captures++;
    const bool whole = report->error.code == CARRY_OK;
    const bool damaged = source_is_damaged(report->error.code);
    print->wrong += carry_capture_total(report->summary, report->wrong) != 0;
    print->damaged += damaged;
    print->failed += !whole && !damaged;
    const bool accepted = print->options->zero_ok && carry_capture_is_all_zero(report->summary);
    print->accepted += accepted;
    print->unchecked +=
        whole && !accepted &&
        carry_capture_outcome(report->summary, report->wrong) == CARRY_CAPTURE_UNCHECKED;
    carry_capture_summary_merge(print->total, report->summary);
    if (status != STATUS_CLEAN)
        name_capture(print, report->path);
    return status;
}

/* Prints only the name. On a terminal, unsafe characters are replaced, since a name must not
   control the terminal. */
static void print_bare_name(const char *path, char end) {
    if (isatty(STDOUT_FILENO))
        text_print_clean(stdout, path);
    else
        fputs(path, stdout);
    putchar(end);
}

static void print_capture_text(const struct check_print *print, const struct report *report) {
    if (print->options->list_bad) {
        print_bare_name(report->path, print->options->null ? '\0' : '\n');
    } else if (print->many && !print->options->each) {
        report_line(stdout, report);
    } else {
        if (print->captures > 1)
            putchar('\n');
        report_text(stdout, report);
    }
}

static void print_capture(const struct check_print *print, const struct report *report) {
    switch (print->options->format) {
    case CHECK_TEXT:
        print_capture_text(print, report);
        break;
    case CHECK_JSON:
        report_json(stdout, report);
        break;
    case CHECK_TSV:
    case CHECK_CSV:
        report_columns(report, columns_format(print->options));
        break;
    }
}

/* Checks whether the output format reports damage. */
static bool format_shows_damage(const struct check_options *options) {
    return !options->bad_only && !has_columns(options) &&
           !(options->list_bad && options->format == CHECK_TEXT);
}

/* Reports on standard error why a capture ended early: always if reading failed; damage only if the
   output does not show it, and not with --quiet. */
static void print_early_end(const struct check_options *options, const struct report *report) {
    char offset[TEXT_SIZE], text[sizeof report->error.text + TEXT_SIZE + 32];
    const struct carry_capture_error *error = &report->error;
    if (error->code != CARRY_OK && !source_is_damaged(error->code)) {
        command_file_error(report->path, error->text);
    } else if (error->code != CARRY_OK && !format_shows_damage(options) && !options->quiet) {
        snprintf(text, sizeof text, "damaged at offset %s: %s", text_count(offset, error->offset),
                 error->text);
        command_file_error(report->path, text);
    }
}

int check_print_capture(struct check_print *print, const struct report *report) {
    const struct check_options *options = print->options;
    int status = count_capture(print, report);
    if (print->page)
        page_add_capture(print->page, report);
    print_early_end(options, report);
    if (!options->quiet && !options->bad_only && !(options->list_bad && status == STATUS_CLEAN))
        print_capture(print, report);
    return status;
}

/* Prints a capture that could not be opened. With --json, --tsv, --csv and --list-bad, it is listed
   like any other file. */
int check_print_unopened(struct check_print *print, const char *path, const char *reason) {
    const struct check_options *options = print->options;
    struct report report = {.path = path,
                            .summary = print->empty,
                            .wrong = options->wrong,
                            .error.code = CARRY_ERROR_READ};
    snprintf(report.error.text, sizeof report.error.text, "%s", reason);
    if (options->format != CHECK_TEXT || options->list_bad)
        return check_print_capture(print, &report);
    if (print->page)
        page_add_capture(print->page, &report);
    print_early_end(options, &report);
    return count_capture(print, &report);
}

/* --- All captures --- */

/* Checks whether to print a total. It would only repeat a message if there are no captures, or if
   the only one could not be read. */
static bool has_total(const struct check_print *print) {
    const struct check_options *options = print->options;
    return print->many && (print->captures > 1 || print->captures > print->failed) &&
           options->format == CHECK_TEXT && !options->quiet && !options->bad_only &&
           !options->list_bad;
}

struct report_total check_print_sum(const struct check_print *print, uint64_t skipped) {
    return (struct report_total){
        .summary = print->total,
        .wrong = print->accepted && !print->wrong ? 0 : print->options->wrong,
        .captures = print->captures,
        .damaged = print->damaged,
        .failed = print->failed,
        .skipped = skipped,
        .unchecked = print->unchecked,
        .accepted = print->accepted,
        .not_clean = print->not_clean,
        .named = (const char *const *)print->named,
        .named_count = print->named_count,
    };
}

void check_print_total(const struct check_print *print, uint64_t skipped) {
    const struct report_total total = check_print_sum(print, skipped);
    if (has_total(print))
        report_total(&total);
}
