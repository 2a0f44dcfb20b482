/* SPDX-License-Identifier: MIT */
/* Prints the lines of an interval, and the summary at the end. */
#include "live/live_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "check/report.h"
#include "check/report_parts.h"
#include "common/clock.h"
#include "common/text.h"

const char *report_live_direction(bool sent) {
    return sent ? "out" : "in";
}

static const char *live_interface_name(const struct live *live, unsigned interface) {
    return live->interfaces.names[interface];
}

/* Uses the ring of RING_ANY if the row's interface has no ring of its own. A search is fast, as
   there are few rings. */
uint64_t report_live_drops(const struct live_report *report, const struct live_row *row) {
    const struct live_options *options = &report->live->options;
    unsigned ring = live_options_find(options, live_interface_name(report->live, row->interface));
    if (ring == options->interfaces_count)
        ring = live_options_find(options, RING_ANY);
    return ring < options->interfaces_count ? report->since->drops[ring] : 0;
}

void report_live_start(const struct live *live) {
    const struct live_options *options = &live->options;
    fputs("watching ", stderr);
    for (unsigned i = 0; i < options->interfaces_count; i++) {
        fputs(i ? ", " : "", stderr);
        text_print_name(stderr, options->interfaces[i]);
    }
    fputs("; Ctrl-C ends\n", stderr);
}

/* --- Lines --- */

/* Prints "; tcp 12 good, 1 bad". */
static void print_protocol(FILE *out, const struct live_row *row, unsigned protocol) {
    const char *separator = "";
    char number[TEXT_SIZE];
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        const uint64_t sums = row->sums[protocol][verdict];
        if (!sums)
            continue;
        if (!*separator)
            fprintf(out, "; %s", carry_packet_protocol_name(protocol));
        fprintf(out, "%s %s %s", separator, text_count(number, sums),
                carry_packet_verdict_name(verdict));
        separator = ",";
    }
}

static void print_side_line(FILE *out, const struct live_report *report,
                            const struct live_row *row) {
    char packets[TEXT_SIZE], bytes[TEXT_SIZE], drops[TEXT_SIZE];
    const double seconds = (double)report->since->time_ns / CLOCK_SECOND;
    fputc(' ', out);
    text_print_clean(out, live_interface_name(report->live, row->interface));
    fprintf(out, " %s: %s packets/s, %s/s, %s dropped", report_live_direction(row->sent),
            text_measure(packets, (double)row->packets / seconds),
            text_bytes(bytes, (uint64_t)((double)row->bytes / seconds)),
            text_count(drops, report_live_drops(report, row)));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        print_protocol(out, row, protocol);
    fputc('\n', out);
}

static void print_time_now(FILE *out) {
    char text[TEXT_SIZE];
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts))
        fputs(text, out);
}

void report_live_lines(FILE *out, const struct live_report *report) {
    for (unsigned i = 0; i < report->since->rows_count; i++) {
        if (!report->since->rows[i].packets)
            continue;
        print_time_now(out);
        print_side_line(out, report, &report->since->rows[i]);
    }
}

/* --- The end --- */

/* Merges the summaries of all threads for one direction of an interface. */
static void merge_side(struct carry_capture_summary *into, const struct watch *watches,
                       unsigned watches_count, const struct live_row *row) {
    for (unsigned i = 0; i < watches_count; i++) {
        const struct side *side = watches[i].of[row->interface][row->sent];
        if (side)
            carry_capture_summary_merge(into, side->summary);
    }
}

static void print_summary_line(FILE *out, const char *name,
                               const struct carry_capture_summary *summary) {
    report_line(out, &(struct report){
                         .path = name,
                         .summary = summary,
                         .wrong = CARRY_CAPTURE_WRONG_VERDICTS,
                         .listed = CARRY_CAPTURE_WRONG_VERDICTS,
                     });
}

/* Prints "eth0 in: 26 packets, 2.1 kB: clean". */
static bool print_side_summary(FILE *out, const struct live *live, const struct watch *watches,
                               unsigned watches_count, const struct live_row *row) {
    char name[IF_NAMESIZE + 8];
    struct carry_capture_summary *summary = carry_capture_summary_create();
    if (!summary)
        return false;
    merge_side(summary, watches, watches_count, row);
    snprintf(name, sizeof name, "%s %s", live_interface_name(live, row->interface),
             report_live_direction(row->sent));
    print_summary_line(out, name, summary);
    carry_capture_summary_free(summary);
    return true;
}

void report_live_dropped(FILE *out, const struct live_counts *counts) {
    char number[TEXT_SIZE];
    const uint64_t drops = counts_drops(counts);
    fprintf(out, "dropped: %s packet%s%s\n", text_count(number, drops), text_plural(drops),
            drops ? "; a larger --buffer-size or more --threads may help" : "");
}

bool report_live_end(FILE *out, const struct live *live, const struct watch *watches,
                     unsigned watches_count, const struct live_counts *counts) {
    struct carry_capture_summary *total = carry_capture_summary_create();
    bool ok = total;
    for (unsigned i = 0; i < counts->rows_count && ok; i++) {
        ok = print_side_summary(out, live, watches, watches_count, &counts->rows[i]);
        merge_side(total, watches, watches_count, &counts->rows[i]);
    }
    if (ok) {
        report_table(out, total);
        report_causes(out, total);
        fputc('\n', out);
        print_summary_line(out, "total", total);
        report_live_dropped(out, counts);
    }
    carry_capture_summary_free(total);
    return ok;
}
