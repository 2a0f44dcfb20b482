/* SPDX-License-Identifier: MIT */
/*
 * The lines of `carry check --tsv`: columns between tabs, their names in the first line. Columns
 * are only ever added at the end.
 */
#include "capture/report.h"

#include <stdio.h>

/* Standard input is "-". A clean name cannot hold what separates columns and lines. */
static void print_name(const char *path) {
    text_print_clean(stdout, path);
}

void report_tsv_header(void) {
    fputs("file\tprotocol", stdout);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        printf("\t%s", carry_packet_verdict_name(verdict));
    puts("\tdamage");
}

static void print_row(const char *path, const char *protocol, const uint64_t *counts) {
    print_name(path);
    printf("\t%s", protocol);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        printf("\t%llu", (unsigned long long)counts[verdict]);
    putchar('\t');
}

/* "63: record cut: 10 of 20 bytes", after the offset. */
static void print_damage(const struct report *report) {
    if (report->end != CAPTURE_END)
        printf("%llu: %s", (unsigned long long)report->problem->offset, report->problem->reason);
}

void report_tsv(const struct report *report) {
    const struct tally *tally = report->tally;
    uint64_t totals[CARRY_VERDICT_COUNT];
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        totals[verdict] = tally_total(tally, verdict);
    print_row(report->path, "all", totals);
    print_damage(report);
    putchar('\n');
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (tally_has(tally, protocol)) {
            print_row(report->path, carry_packet_protocol_name(protocol), tally->counts[protocol]);
            putchar('\n');
        }
}

void report_finding_tsv_header(void) {
    puts("file\tframe\ttime\tprotocol\tverdict\tfrom\tfrom_port\tto\tto_port\tstored\texpected\t"
         "offset\tcause");
}

static void print_end(const struct address *address, int port) {
    char text[ADDRESS_SIZE];
    printf("\t%s\t", address->version ? address_text(text, address, -1) : "");
    if (port >= 0)
        printf("%d", port);
}

void report_finding_tsv(const char *path, const struct finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char time[REPORT_TIME_SIZE];
    print_name(path);
    printf("\t%llu\t%s\t%s\t%s", (unsigned long long)finding->frame,
           report_time(time, finding->time_ns) ? time : "",
           carry_packet_protocol_name(sum->protocol), carry_packet_verdict_name(sum->verdict));
    print_end(&finding->from, finding->from_port);
    print_end(&finding->to, finding->to_port);
    printf("\t%u\t", sum->stored);
    if (tally_has_expected(sum))
        printf("%u", sum->expected);
    putchar('\t');
    if (finding->offset != FINDING_NOWHERE)
        printf("%llu", (unsigned long long)finding->offset);
    printf("\t%s\n", cause_of(sum) ? cause_name(cause_of(sum)) : "");
}
