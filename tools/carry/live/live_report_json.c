/* SPDX-License-Identifier: MIT */
/* Prints the JSON of `carry live`: one object a line. New keys must be added at the end. */
#include "check/report.h"
#include "common/clock.h"
#include "common/json.h"
#include "live/live_report.h"

static json_t *time_json(void) {
    char text[REPORT_TIME_SIZE];
    return json_string(report_time(text, clock_day_ns()));
}

static json_t *verdicts_json(const struct live_row *row, unsigned protocol) {
    json_t *object = json_object();
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        json_object_set_new(object, carry_packet_verdict_name(verdict),
                            json_number(row->sums[protocol][verdict]));
    return object;
}

static json_t *side_json(const struct live *live, const struct live_row *row) {
    json_t *object = json_object(), *protocols = json_object();
    json_set_name(object, "interface", live->interfaces.names[row->interface]);
    json_object_set_new(object, "direction", json_string(report_live_direction(row->sent)));
    json_object_set_new(object, "packets", json_number(row->packets));
    json_object_set_new(object, "bytes", json_number(row->bytes));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (counts_has(row, protocol))
            json_object_set_new(protocols, carry_packet_protocol_name(protocol),
                                verdicts_json(row, protocol));
    json_object_set_new(object, "protocols", protocols);
    return object;
}

/* Returns how many packets each ring dropped: an object for each interface that was given. */
static json_t *dropped_json(const struct live *live, const struct live_counts *counts) {
    json_t *list = json_array();
    for (unsigned i = 0; i < live->options.interfaces_count; i++) {
        json_t *ring = json_object();
        json_set_name(ring, "interface", live->options.interfaces[i]);
        json_object_set_new(ring, "packets", json_number(counts->drops[i]));
        json_array_append_new(list, ring);
    }
    return list;
}

void report_live_json(FILE *out, const struct live_report *report, bool is_final) {
    const struct live_counts *now = report->now;
    json_t *object = json_object(), *sides = json_array();
    json_object_set_new(object, "time", time_json());
    json_object_set_new(object, "seconds", json_real((double)report->now->time_ns / CLOCK_SECOND));
    json_object_set_new(object, "final", json_boolean(is_final));
    for (unsigned i = 0; i < now->rows_count; i++)
        json_array_append_new(sides, side_json(report->live, &now->rows[i]));
    json_object_set_new(object, "sides", sides);
    json_object_set_new(object, "dropped", dropped_json(report->live, now));
    json_print(out, object);
}

void report_live_finding_json(FILE *out, const char *interface, bool sent,
                              const struct carry_capture_finding *finding) {
    json_t *object = json_object();
    json_set_name(object, "interface", interface);
    json_object_set_new(object, "direction", json_string(report_live_direction(sent)));
    report_finding_members(object, finding);
    json_print(out, object);
}
