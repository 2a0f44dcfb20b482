/* SPDX-License-Identifier: MIT */
#include "capture/fix_report.h"

#include <stdlib.h>

#include "capture/tally.h"
#include "common/json.h"
#include "common/text.h"

uint64_t fix_repaired(const struct fix_report *report) {
    uint64_t sum = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            sum += report->repaired[protocol][verdict];
    return sum;
}

uint64_t fix_left(const struct fix_report *report) {
    uint64_t sum = 0;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (tally_is_in(verdict, TALLY_WRONG))
                sum += report->left[protocol][verdict];
    return sum;
}

static unsigned shown(const struct fix_group *group) {
    return group->count < FIX_FRAMES_SHOWN ? (unsigned)group->count : FIX_FRAMES_SHOWN;
}

void fix_group_add(struct fix_group *group, uint64_t frame) {
    if (group->count < FIX_FRAMES_SHOWN)
        group->frames[group->count] = frame;
    group->count++;
}

void fix_leave(struct fix_report *report, const struct fix_sum *sum, enum fix_reason reason) {
    unsigned protocol = sum->sum->protocol, verdict = sum->sum->verdict;
    fix_group_add(&report->reasons[protocol][verdict][reason], sum->frame);
    report->left[protocol][verdict]++;
}

/* The first frames of two groups, in order. */
static struct fix_group merge(const struct fix_group *one, const struct fix_group *other) {
    struct fix_group both = {0};
    unsigned i = 0, j = 0;
    while (both.count < FIX_FRAMES_SHOWN && (i < shown(one) || j < shown(other))) {
        bool is_first = j == shown(other) || (i < shown(one) && one->frames[i] <= other->frames[j]);
        fix_group_add(&both, is_first ? one->frames[i++] : other->frames[j++]);
    }
    both.count = one->count + other->count;
    return both;
}

void fix_leave_headers(struct fix_report *report, unsigned verdict, enum fix_reason reason,
                       const struct fix_group *headers) {
    struct fix_group *group = &report->reasons[CARRY_PROTOCOL_IP][verdict][reason];
    *group = merge(group, headers);
    report->left[CARRY_PROTOCOL_IP][verdict] += headers->count;
}

/* --- Reasons --- */

static const struct {
    const char *name, *sentence;
} reasons[FIX_REASON_DATAGRAM] = {
    [FIX_REASON_ONLY] = {"only", "--only does not ask for that"},
    [FIX_REASON_EARLY] = {"early", "the packet that shows it to be partial came later, and a pipe "
                                   "is read once"},
    [FIX_REASON_BESIDE] = {"beside",
                           "its sender leaves it to the network card, but another checksum "
                           "of the same frame is uncertain"},
    [FIX_REASON_QUOTED] = {"quoted", "quoted in an ICMP error, which is evidence"},
    [FIX_REASON_COVERED] = {"covered", "covered by a checksum that cannot be verified"},
    [FIX_REASON_PARTIAL] = {"partial", "covered by a checksum that is right once a partial one, "
                                       "which --only leaves, is complete"},
    [FIX_REASON_SNAPLEN] = {"snaplen", "the capture cut off bytes that it covers"},
    [FIX_REASON_ADLER32] = {"adler32", "verifies as Adler-32, which SCTP had before RFC 3309"},
    [FIX_REASON_NESTED] = {"nested", "in a fragmented datagram inside another"},
    [FIX_REASON_TUNNEL] = {"tunnel", "in a datagram with fragments that a checksum around them "
                                     "covers"},
    [FIX_REASON_UNKNOWN] = {"unknown", "what it should hold is not certain"},
};

static const char *reason_name(unsigned reason) {
    return reason < FIX_REASON_DATAGRAM ? reasons[reason].name
                                        : reassembly_name(reason - FIX_REASON_DATAGRAM);
}

/* Calls `visit` for each group of sums that are left for the same reason. */
static void for_each_group(const struct fix_report *report, void *context,
                           void (*visit)(void *context, unsigned protocol, unsigned verdict,
                                         unsigned reason, const struct fix_group *group)) {
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            for (unsigned reason = 0; reason < FIX_REASON_COUNT; reason++)
                if (report->reasons[protocol][verdict][reason].count)
                    visit(context, protocol, verdict, reason,
                          &report->reasons[protocol][verdict][reason]);
}

/* --- For people --- */

#define COLUMN_WIDTH 16

/* What a sum was before it was repaired; a good one only follows another that it covers. */
static const char *name_before(unsigned verdict) {
    return verdict == CARRY_VERDICT_GOOD ? "good before" : carry_packet_verdict_name(verdict);
}

typedef uint64_t count_row[CARRY_VERDICT_COUNT];

static bool row_holds(const count_row row, const bool *shown) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (shown[verdict] && row[verdict])
            return true;
    return false;
}

static void print_row(unsigned protocol, const count_row row, const bool *shown) {
    char number[TEXT_SIZE];
    printf("  %-10s", carry_packet_protocol_name(protocol));
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (shown[verdict])
            printf("%*s", COLUMN_WIDTH, row[verdict] ? text_count(number, row[verdict]) : "-");
    putchar('\n');
}

/* A row a protocol, a column a verdict that occurs; nothing if none does. */
static void print_table(const char *title, const count_row *counts, bool (*wanted)(unsigned)) {
    bool shown[CARRY_VERDICT_COUNT] = {false}, any = false;
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
            shown[verdict] |= wanted(verdict) && counts[protocol][verdict];
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        any |= shown[verdict];
    if (!any)
        return;
    printf("\n%s  %-10s", text_colour(COLOUR_FAINT), title);
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        if (shown[verdict])
            printf("%*s", COLUMN_WIDTH, name_before(verdict));
    printf("%s\n", text_colour(COLOUR_NONE));
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        if (row_holds(counts[protocol], shown))
            print_row(protocol, counts[protocol], shown);
}

static bool is_any(unsigned verdict) {
    (void)verdict;
    return true;
}

static void print_group(void *context, unsigned protocol, unsigned verdict, unsigned reason,
                        const struct fix_group *group) {
    FILE *out = context;
    char number[TEXT_SIZE];
    fprintf(out, "%s: %s %s in frame%s ", carry_packet_protocol_name(protocol),
            text_count(number, group->count), carry_packet_verdict_name(verdict),
            text_plural(group->count));
    text_print_frames(out, group->frames, shown(group), group->count);
    if (reason < FIX_REASON_DATAGRAM)
        fprintf(out, ": %s\n", reasons[reason].sentence);
    else
        fprintf(out, ": in a datagram %s\n", reassembly_sentence(reason - FIX_REASON_DATAGRAM));
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
    uint64_t repaired = fix_repaired(report), left = fix_left(report);
    if (!repaired)
        fputs(left ? "nothing repaired" : "nothing to repair", stdout);
    else
        printf("%s%s checksum%s%s repaired%s in %s packet%s", text_colour(COLOUR_GREEN),
               text_count(number, repaired), text_plural(repaired),
               report->output ? "" : " would be", text_colour(COLOUR_NONE),
               text_count(packets, report->changed_packets), text_plural(report->changed_packets));
    if (left)
        printf(", %s%s left bad%s", text_colour(COLOUR_RED), text_count(number, left),
               text_colour(COLOUR_NONE));
    if (report->output) {
        fputs("; written to ", stdout);
        text_print_name(stdout, report->output);
    }
    putchar('\n');
}

static void print_damage(const struct fix_report *report) {
    char offset[TEXT_SIZE];
    if (report->end == CAPTURE_DAMAGED)
        printf("%sdamaged at offset %s: %s%s%s\n", text_colour(COLOUR_RED),
               text_count(offset, report->problem->offset), report->problem->reason,
               text_colour(COLOUR_NONE), report->output ? "; copied as it is from there on" : "");
}

void fix_report_text(const struct fix_report *report) {
    char packets[TEXT_SIZE], bytes[TEXT_SIZE];
    fputs(text_colour(COLOUR_BOLD), stdout);
    text_print_name(stdout, report->input);
    printf("%s: %s packet%s, %s\n", text_colour(COLOUR_NONE), text_count(packets, report->packets),
           text_plural(report->packets), text_bytes(bytes, report->bytes));
    print_table("repaired", report->repaired, is_any);
    print_table("left", report->left, tally_names);
    print_groups(report);
    putchar('\n');
    print_damage(report);
    print_outcome(report);
}

/* --- For programs --- */

/* {"tcp":{"bad":1},...}: what occurs. */
static json_t *counts_json(const count_row *counts, bool (*wanted)(unsigned)) {
    json_t *protocols = json_object();
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++) {
        json_t *row = json_object();
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            if (wanted(verdict) && counts[protocol][verdict])
                json_object_set_new(row, carry_packet_verdict_name(verdict),
                                    json_number(counts[protocol][verdict]));
        if (json_object_size(row))
            json_object_set(protocols, carry_packet_protocol_name(protocol), row);
        json_decref(row);
    }
    return protocols;
}

static json_t *damage_json(const struct fix_report *report) {
    if (report->end == CAPTURE_END)
        return json_null();
    return json_pack("{s:I, s:s}", "offset", (json_int_t)report->problem->offset, "reason",
                     report->problem->reason);
}

/* {"protocol":"tcp","verdict":"bad","reason":"only","count":7,"frames":[1,4,9,12,15]} */
static void add_group(void *context, unsigned protocol, unsigned verdict, unsigned reason,
                      const struct fix_group *group) {
    json_t *frames = json_array();
    for (unsigned i = 0; i < shown(group); i++)
        json_array_append_new(frames, json_number(group->frames[i]));
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:I, s:o}", "protocol",
                                             carry_packet_protocol_name(protocol), "verdict",
                                             carry_packet_verdict_name(verdict), "reason",
                                             reason_name(reason), "count", (json_int_t)group->count,
                                             "frames", frames));
}

void fix_report_json(const struct fix_report *report) {
    json_t *object = json_object(), *groups = json_array();
    for_each_group(report, groups, add_group);
    json_set_name(object, "file", report->input);
    json_set_name(object, "output", report->output);
    json_object_set_new(object, "packets", json_number(report->packets));
    json_object_set_new(object, "bytes", json_number(report->bytes));
    json_object_set_new(object, "changed_packets", json_number(report->changed_packets));
    json_object_set_new(object, "repaired", counts_json(report->repaired, is_any));
    json_object_set_new(object, "left", counts_json(report->left, tally_names));
    json_object_set_new(object, "damage", damage_json(report));
    json_object_set_new(object, "reasons", groups);
    json_print(stdout, object);
}

/* So many bytes of a field that holds `value`, from byte `skip` on, as a number. */
static uint32_t part_of(const struct fix_sum *sum, uint32_t value) {
    unsigned behind = sum->sum->field_size - sum->skip - sum->size;
    return (uint32_t)(((uint64_t)value >> 8 * behind) & ((UINT64_C(1) << 8 * sum->size) - 1));
}

static void print_log(FILE *log, const struct fix_sum *item, json_t *new, json_t *reason) {
    const struct carry_packet_sum *sum = item->sum;
    bool located = item->offset != SOURCE_NOWHERE;
    json_t *object = json_object();
    json_object_set_new(object, "frame", json_number(item->frame));
    json_object_set_new(object, "offset", located ? json_number(item->offset) : json_null());
    json_object_set_new(object, "protocol", json_string(carry_packet_protocol_name(sum->protocol)));
    json_object_set_new(object, "verdict", json_string(carry_packet_verdict_name(sum->verdict)));
    json_object_set_new(object, "size", json_number(item->size));
    json_object_set_new(object, "old", json_number(part_of(item, sum->stored)));
    json_object_set_new(object, "new", new);
    json_object_set_new(object, "field_frame",
                        item->field_frame ? json_number(item->field_frame) : json_null());
    json_object_set_new(object, "reason", reason);
    json_print(log, object);
}

void fix_log_change(FILE *log, const struct fix_sum *sum) {
    print_log(log, sum, json_number(part_of(sum, sum->sum->expected)), json_null());
}

void fix_log_left(FILE *log, const struct fix_sum *sum, enum fix_reason reason) {
    print_log(log, sum, json_null(), json_string(reason_name(reason)));
}
