/* SPDX-License-Identifier: MIT */
/* Prints single checksums as text: the first bad ones of a summary, and the lines of --bad-only. */
#include "check/report_parts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/text.h"

char *report_time(char *buffer, uint64_t time_ns) {
    time_t seconds = (time_t)(time_ns / 1000000000);
    char date[TEXT_SIZE];
    struct tm parts;
    if (!time_ns || !gmtime_r(&seconds, &parts) ||
        !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts))
        return NULL;
    snprintf(buffer, REPORT_TIME_SIZE, "%s.%09uZ", date, (unsigned)(time_ns % 1000000000));
    return buffer;
}

char *report_route(char *buffer, const struct carry_capture_finding *finding) {
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE];
    snprintf(buffer, REPORT_ROUTE_SIZE, "%s %s %s",
             address_text(from, &finding->from, finding->from_port), text_arrow(),
             address_text(to, &finding->to, finding->to_port));
    return buffer;
}

static char *value_text(char *buffer, const struct carry_capture_finding *finding, uint32_t value) {
    snprintf(buffer, TEXT_SIZE, "0x%0*x", 2 * finding->sum.field_size, value);
    return buffer;
}

char *report_stored(char *buffer, const struct carry_capture_finding *finding) {
    return value_text(buffer, finding, finding->sum.stored);
}

char *report_expected(char *buffer, const struct carry_capture_finding *finding) {
    /* An illegal sum is wrong because it is 0: any other value may be right. */
    if (!carry_capture_has_expected(&finding->sum))
        return strcpy(buffer, "not 0");
    return value_text(buffer, finding, finding->sum.expected);
}

/* Returns the width of a value such as 0xbeef. */
static int value_width(const struct carry_capture_finding *finding) {
    return 2 + 2 * finding->sum.field_size;
}

/* Returns a remark about a listed sum that is partial, or whose verdict or cause later packets may
   change; "" for other sums. */
static const char *finding_remark(const struct carry_capture_finding *finding) {
    if (finding->early)
        return " (early)";
    if (finding->sum.verdict != CARRY_VERDICT_PARTIAL)
        return "";
    return finding->certainty == CARRY_CAPTURE_CERTAIN ? " (partial, certain)" : " (partial)";
}

/* Prints the columns before the route: numbers with commas, and no time. */
static void print_finding_columns(FILE *out, const struct carry_capture_finding *finding,
                                  int width) {
    char frame[TEXT_SIZE], offset[TEXT_SIZE], stored[TEXT_SIZE], expected[TEXT_SIZE];
    fprintf(out, "%7s  %-7s  %-*s  %-*s  %11s", text_count(frame, finding->number),
            carry_packet_protocol_name(finding->sum.protocol), width,
            report_stored(stored, finding), width + 2, report_expected(expected, finding),
            finding->offset == CARRY_CAPTURE_NOWHERE ? "-" : text_count(offset, finding->offset));
}

/* Prints the columns before the route in lines that programs may also read: numbers without commas,
   and the time. */
static void print_plain(FILE *out, const struct carry_capture_finding *finding, int width) {
    char stored[TEXT_SIZE], expected[TEXT_SIZE], offset[TEXT_SIZE], time[REPORT_TIME_SIZE];
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)finding->offset);
    fprintf(out, "%7llu  %-7s  %-*s  %-*s  %11s  %-30s", (unsigned long long)finding->number,
            carry_packet_protocol_name(finding->sum.protocol), width,
            report_stored(stored, finding), width + 2, report_expected(expected, finding),
            finding->offset == CARRY_CAPTURE_NOWHERE ? "-" : offset,
            report_time(time, finding->time_ns) ? time : "-");
}

void report_finding_text(FILE *out, const char *path, const struct carry_capture_finding *finding) {
    char route[REPORT_ROUTE_SIZE];
    if (path) {
        text_print_name(out, path);
        fputs(": ", out);
    }
    print_plain(out, finding, value_width(finding));
    fprintf(out, "  %s%s  %s\n", report_route(route, finding), finding_remark(finding),
            finding->cause ? carry_capture_cause_name(finding->cause) : "-");
}

/* --- The first findings of a summary --- */

#define ROW_INDENT 9 /* of a route on its own line */

/* The layout of the rows of a summary. */
struct layout {
    int value_width; /* of the longest value */
    int row_width;   /* of all columns except the route */
    bool fits;       /* the columns fit; otherwise each row is a sentence */
    bool beside;     /* routes are in the row, otherwise below it */
};

/* Returns finding `index` if it is shown, otherwise NULL. */
static const struct carry_capture_finding *shown_finding(const struct report *report,
                                                         size_t index) {
    return report->shown && index >= report->shown ? NULL
                                                   : carry_capture_kept(report->summary, index);
}

static int longest_route(const struct report *report) {
    char route[REPORT_ROUTE_SIZE];
    int longest = 0;
    const struct carry_capture_finding *finding;
    for (size_t i = 0; (finding = shown_finding(report, i)); i++) {
        report_route(route, finding);
        int width = text_width(route, strlen(route)) + (int)strlen(finding_remark(finding));
        longest = width > longest ? width : longest;
    }
    return longest;
}

static struct layout lay_out_rows(const struct report *report) {
    struct layout layout = {0};
    const struct carry_capture_finding *finding;
    for (size_t i = 0; (finding = shown_finding(report, i)); i++)
        if (layout.value_width < value_width(finding))
            layout.value_width = value_width(finding);
    layout.row_width = 35 + 2 * layout.value_width;
    int route = longest_route(report);
    layout.beside = layout.row_width + 2 + route <= text_columns();
    layout.fits = layout.row_width <= text_columns() && ROW_INDENT + route <= text_columns();
    return layout;
}

static void print_titles(FILE *out, const struct layout *layout) {
    char titles[2 * TEXT_COLUMNS];
    snprintf(titles, sizeof titles, "  frame  layer    %-*s  %-*s    at offset",
             layout->value_width, "stored", layout->value_width + 2, "expected");
    text_print_coloured(out, COLOUR_FAINT, 0, titles);
    fputc('\n', out);
}

static void print_finding_row(FILE *out, const struct carry_capture_finding *finding,
                              const struct layout *layout) {
    char route[REPORT_ROUTE_SIZE];
    print_finding_columns(out, finding, layout->value_width);
    if (layout->beside)
        fputs("  ", out);
    else
        fprintf(out, "\n%*s", ROW_INDENT, "");
    fprintf(out, "%s%s\n", report_route(route, finding), finding_remark(finding));
}

/* Prints a finding as a sentence, where a row is too wide for the terminal. */
static void print_finding_sentence(FILE *out, const struct carry_capture_finding *finding) {
    char frame[TEXT_SIZE], offset[TEXT_SIZE], stored[TEXT_SIZE], expected[TEXT_SIZE];
    char route[REPORT_ROUTE_SIZE];
    struct text_block block;
    text_block_begin(&block, out);
    fprintf(block.out, "frame %s, %s: stored %s, expected %s,", text_count(frame, finding->number),
            carry_packet_protocol_name(finding->sum.protocol), report_stored(stored, finding),
            report_expected(expected, finding));
    if (finding->offset != CARRY_CAPTURE_NOWHERE)
        fprintf(block.out, " at offset %s,", text_count(offset, finding->offset));
    fprintf(block.out, " %s%s\n", report_route(route, finding), finding_remark(finding));
    text_block_end(&block, 2);
}

void report_findings(FILE *out, const struct report *report) {
    const struct carry_capture_finding *finding;
    uint64_t more = carry_capture_total(report->summary, report->listed);
    char number[TEXT_SIZE];
    if (!carry_capture_kept(report->summary, 0))
        return;
    struct layout layout = lay_out_rows(report);
    fputc('\n', out);
    if (layout.fits)
        print_titles(out, &layout);
    for (size_t i = 0; (finding = shown_finding(report, i)); i++, more--) {
        if (layout.fits)
            print_finding_row(out, finding, &layout);
        else
            print_finding_sentence(out, finding);
    }
    if (more)
        fprintf(out, "  and %s more%s\n", text_count(number, more),
                report->shown ? "" : ": --bad-only lists them all");
}
