/* SPDX-License-Identifier: MIT */
#include "check/report.h"

#include <stdio.h>

#include "check/report_parts.h"
#include "check/source.h"
#include "common/text.h"

/* --- The verdict --- */

static void print_wrong(FILE *out, const struct carry_capture_summary *summary, unsigned wrong) {
    char number[TEXT_SIZE];
    const uint64_t total = carry_capture_total(summary, wrong);
    uint64_t rest = total;
    fputs(text_colour(COLOUR_RED), out);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = carry_capture_total(summary, wrong & 1u << verdict);
        if (!count)
            continue;
        const char *separator = rest == total ? "" : rest == count ? " and " : ", ";
        fprintf(out, "%s%s %s", separator, text_count(number, count),
                carry_packet_verdict_name(verdict));
        rest -= count;
    }
    fprintf(out, " checksum%s%s", text_plural(total), text_colour(COLOUR_NONE));
    if (carry_capture_is_all_zero(summary))
        fputs(": every checksum is 0, as simulators and generators write them", out);
}

static void print_clean(FILE *out, const struct carry_capture_summary *summary) {
    char number[TEXT_SIZE];
    uint64_t partial = carry_capture_total(summary, 1u << CARRY_VERDICT_PARTIAL);
    uint64_t unverifiable = carry_capture_total(summary, 1u << CARRY_VERDICT_UNVERIFIABLE);
    uint64_t skipped = report_skipped(summary);
    fprintf(out, "%sclean%s", text_colour(COLOUR_GREEN), text_colour(COLOUR_NONE));
    if (partial)
        fprintf(out, ", %s left to transmit offload", text_count(number, partial));
    if (unverifiable)
        fprintf(out, ", %s could not be verified", text_count(number, unverifiable));
    if (skipped)
        fprintf(out, ", %s packet%s not examined", text_count(number, skipped),
                text_plural(skipped));
}

static const char *why_unchecked(const struct carry_capture_summary *summary) {
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    if (carry_capture_is_all_zero(summary))
        return "every checksum is 0";
    if (!totals->packets)
        return totals->unselected ? "no packet was selected" : "no packets";
    if (carry_capture_total(summary, 1u << CARRY_VERDICT_UNVERIFIABLE))
        return "no checksum could be verified";
    if (carry_capture_total(summary, 1u << CARRY_VERDICT_ABSENT))
        return "no checksum was sent";
    if (totals->unknown_links == totals->packets)
        return "no packet has a known link type";
    if (totals->packets > totals->without + totals->unknown_links)
        return "no packet has a checksum of the selected protocols";
    if (totals->raw_ip)
        return "packets are not of the link type that the capture claims";
    return "no packet has a known checksum";
}

static void print_unchecked(FILE *out, const struct carry_capture_summary *summary) {
    fprintf(out, "%snothing was checked%s: %s", text_colour(COLOUR_YELLOW),
            text_colour(COLOUR_NONE), why_unchecked(summary));
}

void report_write_outcome(FILE *out, const struct carry_capture_summary *summary, unsigned wrong) {
    switch (carry_capture_outcome(summary, wrong)) {
    case CARRY_CAPTURE_CLEAN:
        print_clean(out, summary);
        break;
    case CARRY_CAPTURE_WRONG:
        print_wrong(out, summary, wrong);
        break;
    case CARRY_CAPTURE_UNCHECKED:
        print_unchecked(out, summary);
        break;
    }
}

static void print_problem(FILE *out, const struct report *report) {
    char offset[TEXT_SIZE];
    fprintf(out, "%s%s at offset %s: %s%s", text_colour(COLOUR_RED),
            source_is_damaged(report->error.code) ? "damaged" : "failed",
            text_count(offset, report->error.offset), report->error.text, text_colour(COLOUR_NONE));
}

/* Prints the verdict; `between` separates the reason for an early end from the verdict on the
   packets before it. */
static void print_capture_verdict(FILE *out, const struct report *report, const char *between) {
    bool whole = report->error.code == CARRY_OK;
    if (!whole)
        print_problem(out, report);
    if (!whole && carry_capture_totals(report->summary)->packets)
        fprintf(out, "%s%s", between,
                source_is_damaged(report->error.code) ? "before the damage: " : "packets read: ");
    if (whole || carry_capture_totals(report->summary)->packets)
        report_write_outcome(out, report->summary, report->wrong);
    fputc('\n', out);
}

/* --- A capture --- */

static void print_capture_head(FILE *out, const struct report *report) {
    const struct carry_capture_totals *totals = carry_capture_totals(report->summary);
    char packets[REPORT_PACKETS_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), out);
    text_print_name(out, report->path);
    fprintf(out, "%s: %s, %s", text_colour(COLOUR_NONE),
            report_packets(packets, totals->packets, totals->unselected),
            text_bytes(bytes, totals->bytes));
}

void report_text(FILE *out, const struct report *report) {
    struct text_block verdict;
    print_capture_head(out, report);
    fputc('\n', out);
    report_table(out, report->summary);
    report_causes(out, report->summary);
    report_findings(out, report);
    fputc('\n', out);
    text_block_begin_line(&verdict, out);
    print_capture_verdict(verdict.out, report, "\n");
    text_block_end(&verdict, 0);
}

void report_line(FILE *out, const struct report *report) {
    print_capture_head(out, report);
    fputs(": ", out);
    print_capture_verdict(out, report, "; ");
}

/* --- All captures --- */

static void print_remainder(FILE *out, uint64_t count, const char *what) {
    char number[TEXT_SIZE];
    if (count)
        fprintf(out, "; %s %s", text_count(number, count), what);
}

static void print_total_sum(FILE *out, const struct report_total *total) {
    const struct carry_capture_summary *summary = total->summary;
    const struct carry_capture_totals *totals = carry_capture_totals(summary);
    char captures[TEXT_SIZE], packets[REPORT_PACKETS_SIZE];
    bool clean_so_far = (total->damaged || total->failed) &&
                        carry_capture_outcome(summary, total->wrong) == CARRY_CAPTURE_CLEAN;
    fprintf(out, "%s capture%s, %s%s", text_count(captures, total->captures),
            text_plural(total->captures),
            report_packets(packets, totals->packets, totals->unselected),
            clean_so_far ? "; packets read: " : ": ");
    report_write_outcome(out, summary, total->wrong);
    if (carry_capture_outcome(summary, total->wrong) != CARRY_CAPTURE_UNCHECKED)
        print_remainder(out, total->unchecked, "in which nothing was checked");
    print_remainder(out, total->accepted, "in which every checksum is 0, accepted");
    print_remainder(out, total->damaged, "damaged");
    print_remainder(out, total->failed, "could not be read");
    print_remainder(out, total->skipped,
                    total->skipped == 1 ? "other file skipped" : "other files skipped");
    fputc('\n', out);
}

static void print_named(const struct report_total *total) {
    char number[TEXT_SIZE];
    uint64_t more = total->not_clean - total->named_count;
    fputs("not clean: ", stdout);
    for (size_t i = 0; i < total->named_count; i++) {
        fputs(i ? ", " : "", stdout);
        text_print_name(stdout, total->named[i]);
    }
    if (more)
        printf(" and %s more; --list-bad lists them all", text_count(number, more));
    putchar('\n');
}

void report_total(const struct report_total *total) {
    struct text_block sum;
    report_table(stdout, total->summary);
    report_causes(stdout, total->summary);
    report_cause_shares(stdout, total->summary);
    putchar('\n');
    text_block_begin_line(&sum, stdout);
    print_total_sum(sum.out, total);
    text_block_end(&sum, 0);
    if (total->not_clean)
        print_named(total);
}
