/* SPDX-License-Identifier: MIT */
/*
 * Prints the lines of `carry check --tsv` and `--csv`: columns, with their names in the first line.
 * New columns must be added at the end.
 */
#include "check/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The separators of columns and the ends of lines: tabs and newlines, or as in RFC 4180. */
static const struct style {
    const char *separator, *end;
    const char *special; /* characters that require quotes around a column */
} styles[] = {
    [COLUMNS_TSV] = {"\t", "\n", ""},
    [COLUMNS_CSV] = {",", "\r\n", ",\"\r\n"},
};

/* A line that is being printed. */
struct line {
    const struct style *style;
    bool begun;
};

static struct line begin_line(enum columns columns) {
    return (struct line){.style = &styles[columns]};
}

static void end_line(const struct line *line) {
    fputs(line->style->end, stdout);
}

static void print_quoted(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_column(struct line *line, const char *text) {
    if (line->begun)
        fputs(line->style->separator, stdout);
    line->begun = true;
    if (strpbrk(text, line->style->special))
        print_quoted(text);
    else
        fputs(text, stdout);
}

static void print_number_column(struct line *line, uint64_t number) {
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    print_column(line, text);
}

/* Prints a name; standard input is "-". text_clean() has replaced line ends and tabs. */
static void print_name_column(struct line *line, const char *path) {
    char *clean = text_clean(path);
    print_column(line, clean ? clean : "?");
    free(clean);
}

static void print_column_names(enum columns columns, const char *const *names, size_t count) {
    struct line line = begin_line(columns);
    for (size_t i = 0; i < count; i++)
        print_column(&line, names[i]);
    end_line(&line);
}

/* --- Captures --- */

void report_columns_header(enum columns columns) {
    const char *names[2 + CARRY_VERDICT_COUNT + 2] = {"file", "protocol"};
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        names[2 + verdict] = carry_packet_verdict_name(verdict);
    names[2 + CARRY_VERDICT_COUNT] = "damage";
    names[2 + CARRY_VERDICT_COUNT + 1] = "certain";
    print_column_names(columns, names, sizeof names / sizeof *names);
}

/* Prints damage after its offset: "63: record cut: 10 of 20 bytes". */
static void print_damage_column(struct line *line, const struct carry_capture_error *error) {
    char text[TEXT_SIZE + sizeof error->text] = "";
    if (error->code != CARRY_OK)
        snprintf(text, sizeof text, "%llu: %s", (unsigned long long)error->offset, error->text);
    print_column(line, text);
}

static void print_protocol_line(const struct report *report, enum columns columns,
                                unsigned protocol) {
    struct line line = begin_line(columns);
    print_name_column(&line, report->path);
    print_column(&line, carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        print_number_column(&line, carry_capture_count(report->summary, protocol, verdict));
    print_column(&line, "");
    print_number_column(&line, carry_capture_certain_count(report->summary, protocol));
    end_line(&line);
}

static uint64_t count_certain(const struct carry_capture_summary *summary) {
    uint64_t count = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        count += carry_capture_certain_count(summary, protocol);
    return count;
}

void report_columns(const struct report *report, enum columns columns) {
    struct line line = begin_line(columns);
    print_name_column(&line, report->path);
    print_column(&line, "all");
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        print_number_column(&line, carry_capture_total(report->summary, 1u << verdict));
    print_damage_column(&line, &report->error);
    print_number_column(&line, count_certain(report->summary));
    end_line(&line);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (report_has(report->summary, protocol))
            print_protocol_line(report, columns, protocol);
}

/* --- Checksums --- */

void report_finding_columns_header(enum columns columns) {
    static const char *const names[] = {
        "file",    "frame",  "time",     "protocol", "verdict", "from",    "from_port", "to",
        "to_port", "stored", "expected", "offset",   "cause",   "certain", "bit",       "early",
    };
    print_column_names(columns, names, sizeof names / sizeof *names);
}

/* Prints a number, or an empty column if there is none. */
static void print_optional_column(struct line *line, bool exists, uint64_t number) {
    if (exists)
        print_number_column(line, number);
    else
        print_column(line, "");
}

static void print_end_columns(struct line *line, const struct carry_capture_address *address,
                              int32_t port) {
    char text[ADDRESS_SIZE];
    print_column(line, address->version ? address_text(text, address, -1) : "");
    print_optional_column(line, port >= 0, (uint64_t)port);
}

void report_finding_columns(const char *path, const struct carry_capture_finding *finding,
                            enum columns columns) {
    const struct carry_packet_sum *sum = &finding->sum;
    struct line line = begin_line(columns);
    char time[REPORT_TIME_SIZE];
    print_name_column(&line, path);
    print_number_column(&line, finding->number);
    print_column(&line, report_time(time, finding->time_ns) ? time : "");
    print_column(&line, carry_packet_protocol_name(sum->protocol));
    print_column(&line, carry_packet_verdict_name(sum->verdict));
    print_end_columns(&line, &finding->from, finding->from_port);
    print_end_columns(&line, &finding->to, finding->to_port);
    print_number_column(&line, sum->stored);
    print_optional_column(&line, carry_capture_has_expected(sum), sum->expected);
    print_optional_column(&line, finding->offset != CARRY_CAPTURE_NOWHERE, finding->offset);
    print_column(&line, finding->cause ? carry_capture_cause_name(finding->cause) : "");
    print_column(&line, report_certain(finding) ? report_certain(finding) : "");
    print_optional_column(&line, finding->cause == CARRY_CAPTURE_CAUSE_ONE_BIT, finding->bit);
    print_column(&line, finding->early ? "true" : "false");
    end_line(&line);
}
