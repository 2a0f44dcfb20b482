/* SPDX-License-Identifier: MIT */
#include "live/live_metrics.h"

#include "common/metrics.h"
#include "live/live_report.h"

#define COUNTER(name, help) (&(struct metrics_family){name, "counter", help})

/* The labels of a row, with room for the two labels that a checksum adds. */
struct labels {
    struct metrics_label of[4];
};

static struct labels labels_of(const struct live *live, const struct live_row *row) {
    return (struct labels){{{"interface", live->interfaces.names[row->interface]},
                            {"direction", report_live_direction(row->sent)}}};
}

static void print_packet_counters(FILE *out, const struct live_metrics *metrics) {
    const struct live_counts *counts = metrics->counts;
    metrics_begin(out, COUNTER("carry_packets_total", "Packets examined."));
    for (unsigned i = 0; i < counts->rows_count; i++)
        metrics_sample(out, "carry_packets_total", labels_of(metrics->live, &counts->rows[i]).of, 2,
                       counts->rows[i].packets);
    metrics_begin(out, COUNTER("carry_bytes_total", "Bytes of these packets."));
    for (unsigned i = 0; i < counts->rows_count; i++)
        metrics_sample(out, "carry_bytes_total", labels_of(metrics->live, &counts->rows[i]).of, 2,
                       counts->rows[i].bytes);
}

/* Prints the counts of all verdicts for a protocol, also zeros, so that rates begin at 0. */
static void print_protocol_counters(FILE *out, const struct live *live, const struct live_row *row,
                                    unsigned protocol) {
    struct labels labels = labels_of(live, row);
    labels.of[2] = (struct metrics_label){"protocol", carry_packet_protocol_name(protocol)};
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        labels.of[3] = (struct metrics_label){"verdict", carry_packet_verdict_name(verdict)};
        metrics_sample(out, "carry_checksums_total", labels.of, 4, row->sums[protocol][verdict]);
    }
}

static void print_sum_counters(FILE *out, const struct live_metrics *metrics) {
    const struct live_counts *counts = metrics->counts;
    metrics_begin(out, COUNTER("carry_checksums_total", "Checksums by verdict."));
    for (unsigned i = 0; i < counts->rows_count; i++)
        for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
            if (counts_has(&counts->rows[i], protocol))
                print_protocol_counters(out, metrics->live, &counts->rows[i], protocol);
}

static void print_drops(FILE *out, const struct live_metrics *metrics) {
    const struct live_options *options = &metrics->live->options;
    metrics_begin(out, COUNTER("carry_capture_drops_total",
                               "Packets that came while the ring was full, not examined."));
    for (unsigned i = 0; i < options->interfaces_count; i++)
        metrics_sample(out, "carry_capture_drops_total",
                       &(struct metrics_label){"interface", options->interfaces[i]}, 1,
                       metrics->counts->drops[i]);
}

void live_metrics_print(FILE *out, const void *metrics) {
    print_packet_counters(out, metrics);
    print_sum_counters(out, metrics);
    print_drops(out, metrics);
}
