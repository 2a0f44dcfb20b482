/* SPDX-License-Identifier: MIT */
#include "check/check_metrics.h"

#include "common/metrics.h"

#define GAUGE(name, help) (&(struct metrics_family){name, "gauge", help})

static void print_gauge(FILE *out, const char *name, const char *help, uint64_t value) {
    metrics_begin(out, GAUGE(name, help));
    metrics_sample(out, name, NULL, 0, value);
}

/* Prints the count of every verdict, for each protocol that occurred. */
static void print_sum_gauges(FILE *out, const struct carry_capture_summary *summary) {
    metrics_begin(out, GAUGE("carry_check_checksums", "Checksums by verdict."));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        for (unsigned verdict = 0; report_has(summary, protocol) && verdict < CARRY_VERDICT_COUNT;
             verdict++) {
            const struct metrics_label labels[] = {
                {"protocol", carry_packet_protocol_name(protocol)},
                {"verdict", carry_packet_verdict_name(verdict)},
            };
            metrics_sample(out, "carry_check_checksums", labels, 2,
                           carry_capture_count(summary, protocol, verdict));
        }
    }
}

static void print_check_metrics(FILE *out, const void *context) {
    const struct check_print *print = context;
    print_gauge(out, "carry_check_captures", "Captures of the last run.", print->captures);
    print_gauge(out, "carry_check_captures_not_clean",
                "Captures with an exit status of their own other than 0.", print->not_clean);
    print_gauge(out, "carry_check_captures_damaged", "Damaged captures.", print->damaged);
    print_gauge(out, "carry_check_captures_failed", "Captures that could not be read.",
                print->failed);
    print_gauge(out, "carry_check_packets", "Packets examined.",
                carry_capture_totals(print->total)->packets);
    print_sum_gauges(out, print->total);
}

bool check_metrics_write(const char *path, const struct check_print *print) {
    return metrics_write(path, print_check_metrics, print);
}
