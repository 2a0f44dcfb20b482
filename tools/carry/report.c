/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text.h"

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
#include "linktypes.def"
#undef CARRY_LINKTYPE
    default:
        return NULL;
    }
}

/* Text inside a colour; `width` is that of the text alone, which escape sequences would upset. */
static void print_coloured(enum colour colour, int width, const char *text) {
    const char *begin = colour ? text_colour(colour) : "";
    int padding = width - (int)strlen(text);
    printf("%*s%s%s%s", padding > 0 ? padding : 0, "", begin, text,
           *begin ? text_colour(COLOUR_NONE) : "");
}

/* --- The table: a row a protocol, a column a verdict --- */

static int column_width(const struct tally *tally, unsigned verdict) {
    char number[TEXT_SIZE];
    size_t width = strlen(carry_packet_verdict_name(verdict));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        size_t size = strlen(text_count(number, tally->counts[protocol][verdict]));
        width = size > width ? size : width;
    }
    return (int)width + 3;
}

static void print_header(const struct tally *tally) {
    printf("  %-8s", "");
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        print_coloured(COLOUR_FAINT, column_width(tally, verdict),
                       carry_packet_verdict_name(verdict));
    putchar('\n');
}

static void print_row(const struct tally *tally, unsigned protocol) {
    char number[TEXT_SIZE];
    printf("  %-8s", carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = tally->counts[protocol][verdict];
        print_coloured(count ? verdict_colours[verdict] : COLOUR_FAINT,
                       column_width(tally, verdict), count ? text_count(number, count) : "-");
    }
    putchar('\n');
}

static bool any_sums(const struct tally *tally) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (tally_total(tally, verdict))
            return true;
    return false;
}

static void print_table(const struct tally *tally) {
    if (!any_sums(tally))
        return;
    putchar('\n');
    print_header(tally);
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (tally_has(tally, protocol))
            print_row(tally, protocol);
}

/* --- The causes: a sentence each --- */

#define NAMED_SENDERS 3

static int by_count(const void *a, const void *b) {
    uint64_t left = ((const struct sender *)a)->count, right = ((const struct sender *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* After an overflow only a floor is known, and a sender with a small share may be anyone. */
static void print_frequent(FILE *out, const struct sender *senders, uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    unsigned named = 0;
    for (unsigned i = 0; i < NAMED_SENDERS; i++) {
        uint64_t floor = senders[i].count - senders[i].error;
        if (floor < total / 10)
            continue;
        fprintf(out, "%s at least %s from %s", named++ ? "," : "", text_count(number, floor),
                address_text(address, &senders[i].address, -1));
    }
    fprintf(out, named ? ", the rest from many" : " from more than %u senders", SENDERS);
}

static void print_exact(FILE *out, const struct sender *senders, unsigned used, uint64_t total) {
    char number[TEXT_SIZE], address[ADDRESS_SIZE];
    if (used == 1) {
        fprintf(out, " %s %s",
                total == 1   ? "sent by"
                : total == 2 ? "both sent by"
                             : "all sent by",
                address_text(address, &senders->address, -1));
        return;
    }
    for (unsigned i = 0; i < used && i < NAMED_SENDERS; i++) {
        fprintf(out, "%s %s from %s", i ? "," : "", text_count(number, senders[i].count),
                address_text(address, &senders[i].address, -1));
        total -= senders[i].count;
    }
    if (used > NAMED_SENDERS)
        fprintf(out, ", %s from %u other%s", text_count(number, total), used - NAMED_SENDERS,
                text_plural(used - NAMED_SENDERS));
}

static void print_senders(FILE *out, const struct senders *senders, uint64_t total) {
    struct sender sorted[SENDERS];
    memcpy(sorted, senders->slots, sizeof sorted);
    qsort(sorted, senders->used, sizeof *sorted, by_count);
    if (senders->overflowed)
        print_frequent(out, sorted, total);
    else
        print_exact(out, sorted, senders->used, total);
}

/* An empty field is a cause of its own: the sender's offload, or who made the capture, left it. */
static void print_empty(FILE *out, const struct tally *tally, unsigned protocol) {
    char number[TEXT_SIZE];
    uint64_t empty = tally->empty[protocol];
    if (!empty)
        return;
    fputs("; ", out);
    if (empty == tally->counts[protocol][CARRY_VERDICT_BAD])
        fputs(empty == 1 ? "it holds" : "all hold", out);
    else
        fprintf(out, "%s of them hold%s", text_count(number, empty), empty == 1 ? "s" : "");
    fputs(" 0: never filled in", out);
}

static void print_reasons(FILE *out, const struct tally *tally, unsigned protocol) {
    static const char *const sentences[CARRY_REASON_COUNT] = {
        [CARRY_REASON_SNAPLEN] = "cut short by the capture, which kept at most",
        [CARRY_REASON_FRAGMENT] = "in fragments",
        [CARRY_REASON_LENGTH] = "with a length beyond the bytes on the wire",
        [CARRY_REASON_MALFORMED] = "with headers that contradict themselves",
        [CARRY_REASON_QUOTED] = "quoted in ICMP errors",
        [CARRY_REASON_ROUTING] = "behind routing headers of unknown types",
    };
    char number[TEXT_SIZE];
    const char *separator = "";
    for (unsigned reason = CARRY_REASON_NONE + 1; reason < CARRY_REASON_COUNT; reason++) {
        uint64_t count = tally->reasons[protocol][reason];
        if (!count)
            continue;
        fputs(separator, out);
        if (count != tally->counts[protocol][CARRY_VERDICT_UNVERIFIABLE])
            fprintf(out, " %s", text_count(number, count));
        fprintf(out, " %s", sentences[reason]);
        if (reason == CARRY_REASON_SNAPLEN)
            fprintf(out, " %s bytes", text_count(number, tally->longest_cut));
        separator = ",";
    }
}

static void print_cause(FILE *out, const struct tally *tally, unsigned protocol, unsigned verdict) {
    const struct senders *senders = &tally->senders[protocol][verdict];
    uint64_t count = tally->counts[protocol][verdict];
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s", carry_packet_protocol_name(protocol), text_count(number, count),
            carry_packet_verdict_name(verdict));
    fputs(tally_names(verdict) ? "," : ":", out);
    if (tally_names(verdict))
        print_senders(out, senders, count);
    if (verdict == CARRY_VERDICT_BAD)
        print_empty(out, tally, protocol);
    if (verdict == CARRY_VERDICT_PARTIAL)
        fputs("; transmit offload, finished by the network card after the capture", out);
    if (verdict == CARRY_VERDICT_ABSENT)
        fputs(" the sender chose to send none", out);
    if (verdict == CARRY_VERDICT_ILLEGAL)
        fputs("; no checksum, where the protocol demands one", out);
    if (verdict == CARRY_VERDICT_UNVERIFIABLE)
        print_reasons(out, tally, protocol);
    fputc('\n', out);
}

static void print_unknown_links(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    const char *separator = "";
    fputs("not looked into:", out);
    for (unsigned i = 0; i < tally->unknown_used; i++) {
        const struct unknown_link *link = &tally->unknown[i];
        const char *name = report_link_name(link->linktype);
        fprintf(out, "%s %s packet%s of link type %u", separator, text_count(number, link->packets),
                text_plural(link->packets), link->linktype);
        if (name)
            fprintf(out, " (%s)", name);
        separator = ",";
    }
    if (tally->unknown_others)
        fprintf(out, ", %s of others", text_count(number, tally->unknown_others));
    fputc('\n', out);
}

static void print_without(FILE *out, const struct tally *tally) {
    char number[TEXT_SIZE];
    fprintf(out, "%s packet%s without a checksum known here\n", text_count(number, tally->without),
            text_plural(tally->without));
}

/* What became of fragmented datagrams, if there were any. */
static void print_reassembly(FILE *out, const uint64_t *counts) {
    static const char *const sentences[REASSEMBLY_COUNT] = {
        [REASSEMBLY_COMPLETE] = "put together from fragments",
        [REASSEMBLY_MISSING] = "with fragments missing",
        [REASSEMBLY_OVERLAPPING] = "with fragments that contradict each other",
        [REASSEMBLY_MALFORMED] = "with fragments that cannot be",
        [REASSEMBLY_EVICTED] = "given up for want of memory",
    };
    char number[TEXT_SIZE];
    const char *separator = "datagrams:";
    for (unsigned i = 0; counts && i < REASSEMBLY_COUNT; i++) {
        if (!counts[i])
            continue;
        fprintf(out, "%s %s %s", separator, text_count(number, counts[i]), sentences[i]);
        separator = ",";
    }
    if (*separator == ',')
        fputc('\n', out);
}

static void print_causes(FILE *out, const struct report *report) {
    const struct tally *tally = report->tally;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = CARRY_VERDICT_GOOD + 1; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (tally->counts[protocol][verdict])
                print_cause(out, tally, protocol, verdict);
    print_reassembly(out, report->reassembly);
    if (tally->unknown_used)
        print_unknown_links(out, tally);
    if (tally->without)
        print_without(out, tally);
}

static void print_wrapped_causes(const struct report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        print_causes(stdout, report);
        return;
    }
    print_causes(out, report);
    fclose(out);
    if (size)
        putchar('\n');
    text_wrap(stdout, 2, text);
    free(text);
}

/* --- The findings: a line each --- */

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

/* "10.0.0.5:443 -> 10.0.0.9:51200"; room for two addresses and an arrow. */
#define ROUTE_SIZE (2 * ADDRESS_SIZE + 8)

static char *route_text(char *buffer, const struct finding *finding) {
    char from[ADDRESS_SIZE], to[ADDRESS_SIZE];
    snprintf(buffer, ROUTE_SIZE, "%s %s %s", address_text(from, &finding->from, finding->from_port),
             text_arrow(), address_text(to, &finding->to, finding->to_port));
    return buffer;
}

static char *value_text(char *buffer, const struct finding *finding, uint32_t value) {
    snprintf(buffer, TEXT_SIZE, "0x%0*x", 2 * finding->sum.field_size, value);
    return buffer;
}

/* An illegal sum was left out; the walk does not compute what it should have been. */
static char *expected_text(char *buffer, const struct finding *finding) {
    if (finding->sum.verdict == CARRY_VERDICT_ILLEGAL)
        return strcpy(buffer, "not 0");
    return value_text(buffer, finding, finding->sum.expected);
}

/* What a value takes: 0xbeef, or twice the digits. */
static int value_width(const struct finding *finding) {
    return 2 + 2 * finding->sum.field_size;
}

#define FINDING_HEADER_SIZE 80

/* The titles over findings whose values take up to `width`. */
static char *finding_header(char *buffer, int width) {
    snprintf(buffer, FINDING_HEADER_SIZE, "  frame  layer    %-*s  %-*s    at offset", width,
             "stored", width + 2, "expected");
    return buffer;
}

/* What tells a listed sum from a bad one, where its values do not. */
static const char *remark(const struct finding *finding) {
    return finding->sum.verdict == CARRY_VERDICT_PARTIAL ? " (partial)" : "";
}

/* Everything but the route. */
static void print_finding(const struct finding *finding, int width) {
    char frame[TEXT_SIZE], offset[TEXT_SIZE], stored[TEXT_SIZE], expected[TEXT_SIZE];
    printf("%7s  %-7s  %-*s  %-*s  %11s", text_count(frame, finding->frame),
           carry_packet_protocol_name(finding->sum.protocol), width,
           value_text(stored, finding, finding->sum.stored), width + 2,
           expected_text(expected, finding),
           finding->offset == FINDING_NOWHERE ? "-" : text_count(offset, finding->offset));
}

void report_finding_text(const char *path, const struct finding *finding) {
    char route[ROUTE_SIZE];
    if (path) {
        text_print_name(stdout, path);
        fputs(": ", stdout);
    }
    print_finding(finding, value_width(finding));
    printf("  %s%s\n", route_text(route, finding), remark(finding));
}

/* Routes stand beside the rest where all of them fit, else each on a line of its own. */
static const char *route_separator(const struct report *report, size_t header_size) {
    char route[ROUTE_SIZE];
    for (size_t i = 0; i < report->findings_count; i++)
        if (header_size + 2 + strlen(route_text(route, &report->findings[i])) +
                strlen(remark(&report->findings[i])) >
            TEXT_COLUMNS)
            return "\n         ";
    return "  ";
}

static void print_findings(const struct report *report) {
    char route[ROUTE_SIZE], number[TEXT_SIZE];
    uint64_t more = tally_total_of(report->tally, report->listed) - report->findings_count;
    if (!report->findings_count)
        return;
    int width = 0;
    for (size_t i = 0; i < report->findings_count; i++)
        if (width < value_width(&report->findings[i]))
            width = value_width(&report->findings[i]);
    char header[FINDING_HEADER_SIZE];
    finding_header(header, width);
    putchar('\n');
    print_coloured(COLOUR_FAINT, 0, header);
    putchar('\n');
    for (size_t i = 0; i < report->findings_count; i++) {
        print_finding(&report->findings[i], width);
        printf("%s%s%s\n", route_separator(report, strlen(header)),
               route_text(route, &report->findings[i]), remark(&report->findings[i]));
    }
    if (more)
        printf("  and %s more: --bad-only lists them all\n", text_count(number, more));
}

/* --- The verdict --- */

static void print_bad(const struct tally *tally, unsigned wrong) {
    char number[TEXT_SIZE];
    const uint64_t total = tally_total_of(tally, wrong);
    uint64_t rest = total;
    fputs(text_colour(COLOUR_RED), stdout);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        uint64_t count = tally_total_of(tally, wrong & 1u << verdict);
        if (!count)
            continue;
        const char *separator = rest == total ? "" : rest == count ? " and " : ", ";
        printf("%s%s %s", separator, text_count(number, count), carry_packet_verdict_name(verdict));
        rest -= count;
    }
    printf(" checksum%s%s", text_plural(total), text_colour(COLOUR_NONE));
}

/* Clean means that something was verified, and that nothing was wrong. */
static void print_clean(const struct tally *tally) {
    char number[TEXT_SIZE];
    uint64_t partial = tally_total(tally, CARRY_VERDICT_PARTIAL);
    uint64_t unverifiable = tally_total(tally, CARRY_VERDICT_UNVERIFIABLE);
    if (!tally->packets) {
        fputs("no packets", stdout);
    } else if (!partial && !tally_total(tally, CARRY_VERDICT_GOOD)) {
        fputs("nothing could be verified", stdout);
    } else {
        print_coloured(COLOUR_GREEN, 0, "clean");
        if (partial)
            printf(", %s left to transmit offload", text_count(number, partial));
        if (unverifiable)
            printf(", %s could not be verified", text_count(number, unverifiable));
    }
}

static void print_problem(const struct report *report) {
    char offset[TEXT_SIZE], text[sizeof report->problem->reason + TEXT_SIZE + 32];
    snprintf(text, sizeof text, "%s at offset %s: %s",
             report->end == CAPTURE_DAMAGED ? "damaged" : "failed",
             text_count(offset, report->problem->offset), report->problem->reason);
    print_coloured(COLOUR_RED, 0, text);
    putchar('\n');
    if (report->tally->packets)
        fputs(report->end == CAPTURE_DAMAGED ? "what stands before the damage: "
                                             : "what was read: ",
              stdout);
}

static void print_verdict(const struct report *report) {
    putchar('\n');
    if (report->end != CAPTURE_END)
        print_problem(report);
    if (report->end != CAPTURE_END && !report->tally->packets)
        return;
    if (tally_total_of(report->tally, report->wrong))
        print_bad(report->tally, report->wrong);
    else
        print_clean(report->tally);
    putchar('\n');
}

void report_text(const struct report *report) {
    const struct tally *tally = report->tally;
    char packets[TEXT_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), stdout);
    text_print_name(stdout, report->path);
    printf("%s: %s packet%s, %s\n", text_colour(COLOUR_NONE), text_count(packets, tally->packets),
           text_plural(tally->packets), text_bytes(bytes, tally->bytes));
    print_table(tally);
    print_wrapped_causes(report);
    print_findings(report);
    print_verdict(report);
}

static void print_remainder(uint64_t count, const char *what) {
    char number[TEXT_SIZE];
    if (count)
        printf("; %s %s", text_count(number, count), what);
}

void report_total(const struct report_total *total) {
    const struct tally *tally = total->tally;
    char captures[TEXT_SIZE], packets[TEXT_SIZE];
    printf("\n%s capture%s, %s packet%s: ", text_count(captures, total->captures),
           text_plural(total->captures), text_count(packets, tally->packets),
           text_plural(tally->packets));
    if (tally_total_of(tally, total->wrong))
        print_bad(tally, total->wrong);
    else
        print_clean(tally);
    print_remainder(total->damaged, "damaged");
    print_remainder(total->failed, "could not be read");
    print_remainder(total->skipped,
                    total->skipped == 1 ? "other file skipped" : "other files skipped");
    putchar('\n');
}
