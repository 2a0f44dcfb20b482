/* SPDX-License-Identifier: MIT */
/* Prints the results of carry fix as JSON. */
#include "check/fix_report_parts.h"

#include "common/json.h"
#include "common/text.h"

/* Returns {"tcp":{"bad":1},...}: the verdicts that occur. */
static json_t *repair_counts_json(const struct fix_report *report, fix_report_count_fn *count) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct fix_report_row row = fix_report_row(report, count, protocol);
        json_t *verdicts = json_object();
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (row.counts[verdict])
                json_object_set_new(verdicts, carry_packet_verdict_name(verdict),
                                    json_number(row.counts[verdict]));
        if (row.any)
            json_object_set(protocols, carry_packet_protocol_name(protocol), verdicts);
        json_decref(verdicts);
    }
    return protocols;
}

static json_t *damage_json(const struct fix_report *report) {
    if (report->error.code == CARRY_OK)
        return json_null();
    return json_pack("{s:I, s:s}", "offset", (json_int_t)report->error.offset, "reason",
                     report->error.text);
}

/* Appends {"protocol":"tcp","verdict":"bad","reason":"only","count":7,"frames":[1,4,9,12,15]}. */
static void add_group(void *context, unsigned protocol, unsigned verdict, unsigned left,
                      const struct carry_capture_group *group) {
    json_t *frames = json_array();
    for (unsigned i = 0; i < fix_report_shown(group); i++)
        json_array_append_new(frames, json_number(group->frames[i]));
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:I, s:o}", "protocol",
                                             carry_packet_protocol_name(protocol), "verdict",
                                             carry_packet_verdict_name(verdict), "reason",
                                             carry_capture_left_name(left), "count",
                                             (json_int_t)group->count, "frames", frames));
}

void fix_report_json(FILE *out, const struct fix_report *report) {
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    json_t *object = json_object(), *groups = json_array();
    fix_report_groups(report, groups, add_group);
    json_set_name(object, "file", report->input);
    json_set_name(object, "output", report->output);
    json_object_set_new(object, "packets", json_number(totals->packets));
    json_object_set_new(object, "bytes", json_number(totals->bytes));
    json_object_set_new(object, "changed_packets", json_number(totals->changed_packets));
    json_object_set_new(object, "repaired", repair_counts_json(report, carry_capture_repaired));
    json_object_set_new(object, "left", repair_counts_json(report, carry_capture_left));
    json_object_set_new(object, "damage", damage_json(report));
    json_object_set_new(object, "reasons", groups);
    json_object_set_new(object, "unselected", json_number(totals->unselected));
    json_print(out, object);
}

/* Returns the bytes of the field that the change contains, as a number; `value` is the value of the
   whole field. */
static uint32_t field_part(const struct carry_capture_change *sum, uint32_t value) {
    unsigned behind = sum->sum->field_size - sum->skip - sum->size;
    return (uint32_t)(((uint64_t)value >> 8 * behind) & ((UINT64_C(1) << 8 * sum->size) - 1));
}

void fix_log(FILE *log, const struct carry_capture_change *item) {
    const struct carry_packet_sum *sum = item->sum;
    bool located = item->offset != CARRY_CAPTURE_NOWHERE;
    json_t *object = json_object();
    json_object_set_new(object, "frame", json_number(item->number));
    json_object_set_new(object, "offset", located ? json_number(item->offset) : json_null());
    json_object_set_new(object, "protocol", json_string(carry_packet_protocol_name(sum->protocol)));
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    json_object_set_new(object, "size", json_number(item->size));
    json_object_set_new(object, "old", json_number(field_part(item, sum->stored)));
    json_object_set_new(object, "new",
                        item->is_left ? json_null() : json_number(field_part(item, sum->expected)));
    json_object_set_new(object, "field_frame",
                        item->field_number ? json_number(item->field_number) : json_null());
    json_object_set_new(object, "reason",
                        item->is_left ? json_string(carry_capture_left_name(item->left))
                                      : json_null());
    json_print(log, object);
}
