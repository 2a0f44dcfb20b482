/* SPDX-License-Identifier: MIT */
/* Prints the results of carry fix as text. */
#include "check/fix_report_parts.h"

#include <stdlib.h>

#include "check/report.h"
#include "common/output.h"
#include "common/text.h"

/* Returns why a sum is left unrepaired, in the terms of the command line where they are clearer
   than the terms of the library. */
static const char *left_reason_text(unsigned left) {
    switch (left) {
    case CARRY_CAPTURE_LEFT_ONLY:
        return "--only does not name this verdict";
    case CARRY_CAPTURE_LEFT_EARLY:
        return "a later packet shows that it is partial, and a pipe is read only once";
    case CARRY_CAPTURE_LEFT_PARTIAL:
        return "covered by a checksum that becomes right once a partial one that --only leaves is "
               "complete";
    default:
        return carry_capture_left_text(left);
    }
}

#define COLUMN_WIDTH 16

/* Returns the verdict before the repair. A good sum changes only if it covers another sum that
   changes. */
static const char *name_before(unsigned verdict) {
    return verdict == CARRY_VERDICT_GOOD ? "good before" : carry_packet_verdict_name(verdict);
}

static void print_table_row(unsigned protocol, const struct fix_report_row *row,
                            const struct fix_report_row *sums) {
    char number[TEXT_SIZE];
    printf("  %-10s", carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (sums->counts[verdict])
            printf("%*s", COLUMN_WIDTH,
                   row->counts[verdict] ? text_count(number, row->counts[verdict]) : "-");
    putchar('\n');
}

static struct fix_report_row sum_rows(const struct fix_report *report, fix_report_count_fn *count) {
    struct fix_report_row sums = {.any = false};
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct fix_report_row row = fix_report_row(report, count, protocol);
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            sums.counts[verdict] += row.counts[verdict];
        sums.any |= row.any;
    }
    return sums;
}

/* Prints a table of one row per protocol and one column per verdict that occurs. Prints nothing if
   no verdict occurs. */
static void print_verdict_table(const struct fix_report *report, const char *title,
                                fix_report_count_fn *count) {
    const struct fix_report_row sums = sum_rows(report, count);
    if (!sums.any)
        return;
    printf("\n%s  %-10s", text_colour(COLOUR_FAINT), title);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (sums.counts[verdict])
            printf("%*s", COLUMN_WIDTH, name_before(verdict));
    printf("%s\n", text_colour(COLOUR_NONE));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct fix_report_row row = fix_report_row(report, count, protocol);
        if (row.any)
            print_table_row(protocol, &row, &sums);
    }
}

static void print_left_group(void *context, unsigned protocol, unsigned verdict, unsigned left,
                             const struct carry_capture_group *group) {
    FILE *out = context;
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s in frame%s ", carry_packet_protocol_name(protocol),
            text_count(number, group->count), carry_packet_verdict_name(verdict),
            text_plural(group->count));
    text_print_frames(out, group->frames, fix_report_shown(group), group->count);
    fprintf(out, ": %s\n", left_reason_text(left));
}

static void print_left_groups(const struct fix_report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    fix_report_groups(report, out, print_left_group);
    fclose(out);
    if (size)
        putchar('\n');
    text_wrap(stdout, 2, text);
    free(text);
}

static void print_outcome(const struct fix_report *report) {
    char number[TEXT_SIZE], packets[TEXT_SIZE];
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    uint64_t repaired = totals->repaired, left = totals->left_wrong;
    if (!repaired)
        fputs(left ? "nothing repaired" : "nothing to repair", stdout);
    else
        printf("%s%s checksum%s%s repaired%s in %s packet%s", text_colour(COLOUR_GREEN),
               text_count(number, repaired), text_plural(repaired),
               report->output ? "" : " would be", text_colour(COLOUR_NONE),
               text_count(packets, totals->changed_packets), text_plural(totals->changed_packets));
    if (left)
        printf(", %s%s left bad%s", text_colour(COLOUR_RED), text_count(number, left),
               text_colour(COLOUR_NONE));
    if (report->output) {
        fputs("; written to ", stdout);
        text_print_name(stdout, output_name(report->output));
    }
    putchar('\n');
}

static void print_damage(const struct fix_report *report) {
    char offset[TEXT_SIZE];
    if (report->error.code != CARRY_OK)
        printf("%sdamaged at offset %s: %s%s%s\n", text_colour(COLOUR_RED),
               text_count(offset, report->error.offset), report->error.text,
               text_colour(COLOUR_NONE), report->output ? "; the rest is copied unchanged" : "");
}

static void print_copy_head(const struct fix_report *report, const char *end) {
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    char packets[REPORT_PACKETS_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), stdout);
    text_print_name(stdout, report->input);
    printf("%s: %s, %s%s", text_colour(COLOUR_NONE),
           report_packets(packets, totals->packets, totals->unselected),
           text_bytes(bytes, totals->bytes), end);
}

void fix_report_text(const struct fix_report *report) {
    print_copy_head(report, "\n");
    print_verdict_table(report, "repaired", carry_capture_repaired);
    print_verdict_table(report, "left", carry_capture_left);
    print_left_groups(report);
    putchar('\n');
    print_damage(report);
    print_outcome(report);
}

void fix_report_line(const struct fix_report *report) {
    print_copy_head(report, "; ");
    print_outcome(report);
    print_damage(report);
}

void fix_report_folder(uint64_t captures, uint64_t skipped) {
    char number[TEXT_SIZE];
    printf("\n%s capture%s", text_count(number, captures), text_plural(captures));
    if (skipped)
        printf(", %s other file%s skipped", text_count(number, skipped), text_plural(skipped));
    putchar('\n');
}
