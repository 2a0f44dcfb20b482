/* SPDX-License-Identifier: MIT */
/* Prints the table of a summary: one row per protocol, one column per verdict. */
#include "check/report_parts.h"

#include <string.h>

#include "check/report.h"
#include "common/text.h"

#define NAME_WIDTH 10
#define GAP        3

/* The width of each column, and of the whole row. */
struct widths {
    int of[CARRY_VERDICT_COUNT];
    int all;
};

static uint64_t largest_count(const struct carry_capture_summary *summary, unsigned verdict) {
    uint64_t count = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (carry_capture_count(summary, protocol, verdict) > count)
            count = carry_capture_count(summary, protocol, verdict);
    return count;
}

/* Computes the widths once per table, as each needs the counts of all protocols. */
static struct widths measure_columns(const struct carry_capture_summary *summary) {
    struct widths widths = {.all = NAME_WIDTH};
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        char number[TEXT_SIZE];
        size_t name = strlen(carry_packet_verdict_name(verdict));
        size_t count = strlen(text_count(number, largest_count(summary, verdict)));
        widths.of[verdict] = GAP + (int)(count > name ? count : name);
        widths.all += widths.of[verdict];
    }
    return widths;
}

static void print_verdict_header(FILE *out, const struct widths *widths) {
    fprintf(out, "%*s", NAME_WIDTH, "");
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        text_print_coloured(out, COLOUR_FAINT, widths->of[verdict],
                            carry_packet_verdict_name(verdict));
    fputc('\n', out);
}

static void print_protocol_row(FILE *out, const struct carry_capture_summary *summary,
                               unsigned protocol, const struct widths *widths) {
    char number[TEXT_SIZE];
    fprintf(out, "  %-*s", NAME_WIDTH - 2, carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = carry_capture_count(summary, protocol, verdict);
        text_print_coloured(out, count ? report_verdict_colour(verdict) : COLOUR_FAINT,
                            widths->of[verdict], count ? text_count(number, count) : "-");
    }
    fputc('\n', out);
}

/* Prints a row as a sentence, if the table is wider than the terminal: "tcp: 1,234 good, 1 bad". */
static void print_protocol_sentence(FILE *out, const struct carry_capture_summary *summary,
                                    unsigned protocol) {
    struct text_block block;
    const char *separator = ":";
    char number[TEXT_SIZE];
    text_block_begin(&block, out);
    fputs(carry_packet_protocol_name(protocol), block.out);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = carry_capture_count(summary, protocol, verdict);
        if (!count)
            continue;
        fprintf(block.out, "%s %s %s", separator, text_count(number, count),
                carry_packet_verdict_name(verdict));
        separator = ",";
    }
    fputc('\n', block.out);
    text_block_end(&block, 2);
}

static bool any_sums(const struct carry_capture_summary *summary) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (carry_capture_total(summary, 1u << verdict))
            return true;
    return false;
}

void report_table(FILE *out, const struct carry_capture_summary *summary) {
    if (!any_sums(summary))
        return;
    struct widths widths = measure_columns(summary);
    bool fits = widths.all <= text_columns();
    fputc('\n', out);
    if (fits)
        print_verdict_header(out, &widths);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        if (report_has(summary, protocol) && fits)
            print_protocol_row(out, summary, protocol, &widths);
        else if (report_has(summary, protocol))
            print_protocol_sentence(out, summary, protocol);
    }
}
