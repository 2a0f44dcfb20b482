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

static void begin_row(const char *path, const char *protocol) {
    print_name(path);
    printf("\t%s", protocol);
}

static void print_column(uint64_t count) {
    printf("\t%llu", (unsigned long long)count);
}

static void print_row(const struct report *report, unsigned protocol) {
    begin_row(report->path, carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        print_column(carry_capture_count(report->summary, protocol, verdict));
    puts("\t");
}

/* "63: record cut: 10 of 20 bytes", after the offset. */
static void print_damage(const struct report *report) {
    if (report->error.code != CARRY_OK)
        printf("%llu: %s", (unsigned long long)report->error.offset, report->error.text);
}

void report_tsv(const struct report *report) {
    begin_row(report->path, "all");
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        print_column(carry_capture_total(report->summary, 1u << verdict));
    putchar('\t');
    print_damage(report);
    putchar('\n');
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (report_has(report->summary, protocol))
            print_row(report, protocol);
}

void report_finding_tsv_header(void) {
    puts("file\tframe\ttime\tprotocol\tverdict\tfrom\tfrom_port\tto\tto_port\tstored\texpected\t"
         "offset\tcause");
}

static void print_end(const struct carry_capture_address *address, int32_t port) {
    char text[ADDRESS_SIZE];
    printf("\t%s\t", address->version ? address_text(text, address, -1) : "");
    if (port >= 0)
        printf("%d", port);
}

void report_finding_tsv(const char *path, const struct carry_capture_finding *finding) {
    const struct carry_packet_sum *sum = &finding->sum;
    char time[REPORT_TIME_SIZE];
    print_name(path);
    printf("\t%llu\t%s\t%s\t%s", (unsigned long long)finding->number,
           report_time(time, finding->time_ns) ? time : "",
           carry_packet_protocol_name(sum->protocol), carry_packet_verdict_name(sum->verdict));
    print_end(&finding->from, finding->from_port);
    print_end(&finding->to, finding->to_port);
    printf("\t%u\t", sum->stored);
    if (carry_capture_has_expected(sum))
        printf("%u", sum->expected);
    putchar('\t');
    if (finding->offset != CARRY_CAPTURE_NOWHERE)
        printf("%llu", (unsigned long long)finding->offset);
    printf("\t%s\n", finding->cause ? carry_capture_cause_name(finding->cause) : "");
}
