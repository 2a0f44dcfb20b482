/* SPDX-License-Identifier: MIT */
#include "capture/fix_report.h"

#include <stdlib.h>

#include "capture/report.h"
#include "common/json.h"
#include "common/output.h"
#include "common/text.h"

static unsigned shown(const struct carry_capture_group *group) {
    return group->count < CARRY_CAPTURE_GROUP_FRAMES ? (unsigned)group->count
                                                     : CARRY_CAPTURE_GROUP_FRAMES;
}

/* Why sums are left, where a command line has more to say than the library. */
static const char *left_text(unsigned left) {
    switch (left) {
    case CARRY_CAPTURE_LEFT_ONLY:
        return "--only does not name this verdict";
    case CARRY_CAPTURE_LEFT_EARLY:
        return "a later packet shows that it is partial, and a pipe is read only once";
    case CARRY_CAPTURE_LEFT_PARTIAL:
        return "covered by a checksum that becomes right once a partial one that --only leaves is "
               "complete";
    default:
        return carry_capture_left_text(left);
    }
}

/* Calls `visit` for each group of sums that are left for the same reason. */
static void for_each_group(const struct fix_report *report, void *context,
                           void (*visit)(void *context, unsigned protocol, unsigned verdict,
                                         unsigned left, const struct carry_capture_group *group)) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
            uint64_t rest = carry_capture_left(report->repairs, protocol, verdict);
            for (unsigned left = 0; left < CARRY_CAPTURE_LEFT_COUNT && rest; left++) {
                const struct carry_capture_group *group =
                    carry_capture_left_group(report->repairs, protocol, verdict, left);
                rest -= group->count;
                if (group->count)
                    visit(context, protocol, verdict, left, group);
            }
        }
}

/* --- For people --- */

#define COLUMN_WIDTH 16

/* What a sum was before it was repaired; a good one only follows another that it covers. */
static const char *name_before(unsigned verdict) {
    return verdict == CARRY_VERDICT_GOOD ? "good before" : carry_packet_verdict_name(verdict);
}

/* carry_capture_repaired() or carry_capture_left(). */
typedef uint64_t count_fn(const struct carry_capture_repairs *repairs, unsigned protocol,
                          unsigned verdict);

/* A row of a table: what occurs of a protocol. */
struct row {
    uint64_t counts[CARRY_VERDICT_COUNT];
    bool any;
};

static struct row row_of(const struct fix_report *report, count_fn *count, unsigned protocol) {
    struct row row = {.any = false};
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
        row.counts[verdict] = count(report->repairs, protocol, verdict);
        row.any |= row.counts[verdict] > 0;
    }
    return row;
}

static void print_row(unsigned protocol, const struct row *row, const struct row *sums) {
    char number[TEXT_SIZE];
    printf("  %-10s", carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (sums->counts[verdict])
            printf("%*s", COLUMN_WIDTH,
                   row->counts[verdict] ? text_count(number, row->counts[verdict]) : "-");
    putchar('\n');
}

static struct row add_up(const struct fix_report *report, count_fn *count) {
    struct row sums = {.any = false};
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct row row = row_of(report, count, protocol);
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            sums.counts[verdict] += row.counts[verdict];
        sums.any |= row.any;
    }
    return sums;
}

/* A row a protocol, a column a verdict that occurs; nothing if none does. */
static void print_table(const struct fix_report *report, const char *title, count_fn *count) {
    const struct row sums = add_up(report, count);
    if (!sums.any)
        return;
    printf("\n%s  %-10s", text_colour(COLOUR_FAINT), title);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (sums.counts[verdict])
            printf("%*s", COLUMN_WIDTH, name_before(verdict));
    printf("%s\n", text_colour(COLOUR_NONE));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct row row = row_of(report, count, protocol);
        if (row.any)
            print_row(protocol, &row, &sums);
    }
}

static void print_group(void *context, unsigned protocol, unsigned verdict, unsigned left,
                        const struct carry_capture_group *group) {
    FILE *out = context;
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s in frame%s ", carry_packet_protocol_name(protocol),
            text_count(number, group->count), carry_packet_verdict_name(verdict),
            text_plural(group->count));
    text_print_frames(out, group->frames, shown(group), group->count);
    fprintf(out, ": %s\n", left_text(left));
}

static void print_groups(const struct fix_report *report) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    for_each_group(report, out, print_group);
    fclose(out);
    if (size)
        putchar('\n');
    text_wrap(stdout, 2, text);
    free(text);
}

static void print_outcome(const struct fix_report *report) {
    char number[TEXT_SIZE], packets[TEXT_SIZE];
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    uint64_t repaired = totals->repaired, left = totals->left_wrong;
    if (!repaired)
        fputs(left ? "nothing repaired" : "nothing to repair", stdout);
    else
        printf("%s%s checksum%s%s repaired%s in %s packet%s", text_colour(COLOUR_GREEN),
               text_count(number, repaired), text_plural(repaired),
               report->output ? "" : " would be", text_colour(COLOUR_NONE),
               text_count(packets, totals->changed_packets), text_plural(totals->changed_packets));
    if (left)
        printf(", %s%s left bad%s", text_colour(COLOUR_RED), text_count(number, left),
               text_colour(COLOUR_NONE));
    if (report->output) {
        fputs("; written to ", stdout);
        text_print_name(stdout, output_name(report->output));
    }
    putchar('\n');
}

static void print_damage(const struct fix_report *report) {
    char offset[TEXT_SIZE];
    if (report->error.code != CARRY_OK)
        printf("%sdamaged at offset %s: %s%s%s\n", text_colour(COLOUR_RED),
               text_count(offset, report->error.offset), report->error.text,
               text_colour(COLOUR_NONE), report->output ? "; the rest is copied unchanged" : "");
}

static void print_head(const struct fix_report *report, const char *end) {
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    char packets[REPORT_PACKETS_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), stdout);
    text_print_name(stdout, report->input);
    printf("%s: %s, %s%s", text_colour(COLOUR_NONE),
           report_packets(packets, totals->packets, totals->unselected),
           text_bytes(bytes, totals->bytes), end);
}

void fix_report_text(const struct fix_report *report) {
    print_head(report, "\n");
    print_table(report, "repaired", carry_capture_repaired);
    print_table(report, "left", carry_capture_left);
    print_groups(report);
    putchar('\n');
    print_damage(report);
    print_outcome(report);
}

void fix_report_line(const struct fix_report *report) {
    print_head(report, "; ");
    print_outcome(report);
    print_damage(report);
}

void fix_report_folder(uint64_t captures, uint64_t skipped) {
    char number[TEXT_SIZE];
    printf("\n%s capture%s", text_count(number, captures), text_plural(captures));
    if (skipped)
        printf(", %s other file%s skipped", text_count(number, skipped), text_plural(skipped));
    putchar('\n');
}

/* --- For programs --- */

/* {"tcp":{"bad":1},...}: what occurs. */
static json_t *counts_json(const struct fix_report *report, count_fn *count) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        const struct row row = row_of(report, count, protocol);
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

/* {"protocol":"tcp","verdict":"bad","reason":"only","count":7,"frames":[1,4,9,12,15]} */
static void add_group(void *context, unsigned protocol, unsigned verdict, unsigned left,
                      const struct carry_capture_group *group) {
    json_t *frames = json_array();
    for (unsigned i = 0; i < shown(group); i++)
        json_array_append_new(frames, json_number(group->frames[i]));
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:I, s:o}", "protocol",
                                             carry_packet_protocol_name(protocol), "verdict",
                                             carry_packet_verdict_name(verdict), "reason",
                                             carry_capture_left_name(left), "count",
                                             (json_int_t)group->count, "frames", frames));
}

void fix_report_json(const struct fix_report *report) {
    const struct carry_capture_repair_totals *totals = carry_capture_repair_totals(report->repairs);
    json_t *object = json_object(), *groups = json_array();
    for_each_group(report, groups, add_group);
    json_set_name(object, "file", report->input);
    json_set_name(object, "output", report->output);
    json_object_set_new(object, "packets", json_number(totals->packets));
    json_object_set_new(object, "bytes", json_number(totals->bytes));
    json_object_set_new(object, "changed_packets", json_number(totals->changed_packets));
    json_object_set_new(object, "repaired", counts_json(report, carry_capture_repaired));
    json_object_set_new(object, "left", counts_json(report, carry_capture_left));
    json_object_set_new(object, "damage", damage_json(report));
    json_object_set_new(object, "reasons", groups);
    json_object_set_new(object, "unselected", json_number(totals->unselected));
    json_print(stdout, object);
}

/* So many bytes of a field that holds `value`, from byte `skip` on, as a number. */
static uint32_t part_of(const struct carry_capture_change *sum, uint32_t value) {
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
    json_object_set_new(object, "old", json_number(part_of(item, sum->stored)));
    json_object_set_new(object, "new",
                        item->is_left ? json_null() : json_number(part_of(item, sum->expected)));
    json_object_set_new(object, "field_frame",
                        item->field_number ? json_number(item->field_number) : json_null());
    json_object_set_new(object, "reason",
                        item->is_left ? json_string(carry_capture_left_name(item->left))
                                      : json_null());
    json_print(log, object);
}
