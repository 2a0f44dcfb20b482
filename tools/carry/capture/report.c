/* SPDX-License-Identifier: MIT */
#include "capture/report.h"

#include <stdio.h>

#include "capture/report_parts.h"
#include "common/text.h"

static const enum colour verdict_colours[CARRY_VERDICT_COUNT] = {
    [CARRY_VERDICT_GOOD] = COLOUR_GREEN,
    [CARRY_VERDICT_BAD] = COLOUR_RED,
    [CARRY_VERDICT_PARTIAL] = COLOUR_YELLOW,
    [CARRY_VERDICT_ILLEGAL] = COLOUR_RED,
};

enum colour report_verdict_colour(unsigned verdict) {
    return verdict_colours[verdict];
}

const char *report_link_name(uint32_t linktype) {
    switch (linktype) {
#define CARRY_LINKTYPE(value, name)                                                                \
    case value:                                                                                    \
        return name;
#include "capture/linktypes.def"
#undef CARRY_LINKTYPE
    default:
        return NULL;
    }
}

/* --- The verdict --- */

static void print_wrong(FILE *out, const struct tally *tally, unsigned wrong) {
    char number[TEXT_SIZE];
    const uint64_t total = tally_total_of(tally, wrong);
    uint64_t rest = total;
    fputs(text_colour(COLOUR_RED), out);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = tally_total_of(tally, wrong & 1u << verdict);
        if (!count)
            continue;
        const char *separator = rest == total ? "" : rest == count ? " and " : ", ";
        fprintf(out, "%s%s %s", separator, text_count(number, count),
                carry_packet_verdict_name(verdict));
        rest -= count;
    }
    fprintf(out, " checksum%s%s", text_plural(total), text_colour(COLOUR_NONE));
}

static void print_clean(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    uint64_t partial = tally_total(tally, CARRY_VERDICT_PARTIAL);
    uint64_t unverifiable = tally_total(tally, CARRY_VERDICT_UNVERIFIABLE);
    uint64_t skipped = tally_skipped(tally);
    fprintf(out, "%sclean%s", text_colour(COLOUR_GREEN), text_colour(COLOUR_NONE));
    if (partial)
        fprintf(out, ", %s left to transmit offload", text_count(number, partial));
    if (unverifiable)
        fprintf(out, ", %s could not be verified", text_count(number, unverifiable));
    if (skipped)
        fprintf(out, ", %s packet%s not looked into", text_count(number, skipped),
                text_plural(skipped));
}

static const char *why_unchecked(const struct tally *tally) {
    if (!tally->packets)
        return "no packets";
    if (tally_total(tally, CARRY_VERDICT_UNVERIFIABLE))
        return "no checksum could be verified";
    if (tally_total(tally, CARRY_VERDICT_ABSENT))
        return "no checksum was sent";
    if (tally_unknown(tally) == tally->packets)
        return "no packet has a link type known here";
    if (tally->packets > tally->without + tally_unknown(tally))
        return "no packet has a checksum of the protocols asked for";
    return "no packet has a checksum known here";
}

static void print_unchecked(FILE *out, const struct tally *tally) {
    fprintf(out, "%snothing was checked%s: %s", text_colour(COLOUR_YELLOW),
            text_colour(COLOUR_NONE), why_unchecked(tally));
}

static void print_outcome(FILE *out, const struct tally *tally, unsigned wrong) {
    switch (tally_outcome(tally, wrong)) {
    case OUTCOME_CLEAN:
        print_clean(out, tally);
        break;
    case OUTCOME_WRONG:
        print_wrong(out, tally, wrong);
        break;
    case OUTCOME_UNCHECKED:
        print_unchecked(out, tally);
        break;
    }
}

static void print_problem(FILE *out, const struct report *report) {
    char offset[TEXT_SIZE];
    fprintf(out, "%s%s at offset %s: %s%s", text_colour(COLOUR_RED),
            report->end == CAPTURE_DAMAGED ? "damaged" : "failed",
            text_count(offset, report->problem->offset), report->problem->reason,
            text_colour(COLOUR_NONE));
}

/* `between` parts what ended the capture early from what the packets before that say. */
static void print_verdict(FILE *out, const struct report *report, const char *between) {
    bool whole = report->end == CAPTURE_END;
    if (!whole)
        print_problem(out, report);
    if (!whole && report->tally->packets)
        fprintf(out, "%s%s", between,
                report->end == CAPTURE_DAMAGED ? "before the damage: " : "what was read: ");
    if (whole || report->tally->packets)
        print_outcome(out, report->tally, report->wrong);
    fputc('\n', out);
}

/* --- A capture --- */

static void print_head(const struct report *report) {
    const struct tally *tally = report->tally;
    char packets[TEXT_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), stdout);
    text_print_name(stdout, report->path);
    printf("%s: %s packet%s, %s", text_colour(COLOUR_NONE), text_count(packets, tally->packets),
           text_plural(tally->packets), text_bytes(bytes, tally->bytes));
}

void report_text(const struct report *report) {
    struct text_block verdict;
    print_head(report);
    putchar('\n');
    report_table(report->tally);
    report_causes(report->tally, report->reassembly);
    report_findings(report);
    putchar('\n');
    text_block_begin_line(&verdict);
    print_verdict(verdict.out, report, "\n");
    text_block_end(&verdict, 0);
}

void report_line(const struct report *report) {
    print_head(report);
    fputs(": ", stdout);
    print_verdict(stdout, report, "; ");
}

/* --- All captures --- */

static void print_remainder(FILE *out, uint64_t count, const char *what) {
    char number[TEXT_SIZE];
    if (count)
        fprintf(out, "; %s %s", text_count(number, count), what);
}

static void print_sum(FILE *out, const struct report_total *total) {
    const struct tally *tally = total->tally;
    char captures[TEXT_SIZE], packets[TEXT_SIZE];
    bool clean_so_far =
        (total->damaged || total->failed) && tally_outcome(tally, total->wrong) == OUTCOME_CLEAN;
    fprintf(out, "%s capture%s, %s packet%s%s", text_count(captures, total->captures),
            text_plural(total->captures), text_count(packets, tally->packets),
            text_plural(tally->packets), clean_so_far ? "; what was read: " : ": ");
    print_outcome(out, tally, total->wrong);
    if (tally_outcome(tally, total->wrong) != OUTCOME_UNCHECKED)
        print_remainder(out, total->unchecked, "in which nothing was checked");
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
    report_table(total->tally);
    report_causes(total->tally, total->reassembly);
    putchar('\n');
    text_block_begin_line(&sum);
    print_sum(sum.out, total);
    text_block_end(&sum, 0);
    if (total->not_clean)
        print_named(total);
}
