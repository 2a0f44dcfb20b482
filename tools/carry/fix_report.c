/* SPDX-License-Identifier: MIT */
#include "fix_report.h"

#include "json.h"
#include "tally.h"
#include "text.h"

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

static void print_outcome(const struct fix_report *report) {
    char number[TEXT_SIZE], packets[TEXT_SIZE];
    uint64_t repaired = fix_repaired(report);
    if (!repaired)
        fputs("nothing to repair", stdout);
    else
        printf("%s%s checksum%s%s repaired%s in %s packet%s", text_colour(COLOUR_GREEN),
               text_count(number, repaired), text_plural(repaired),
               report->output ? "" : " would be", text_colour(COLOUR_NONE),
               text_count(packets, report->changed_packets), text_plural(report->changed_packets));
    uint64_t left = fix_left(report);
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

void fix_report_json(const struct fix_report *report) {
    json_t *object = json_object();
    json_object_set_new(object, "file", json_name(report->input));
    json_object_set_new(object, "output", json_name(report->output));
    json_object_set_new(object, "packets", json_number(report->packets));
    json_object_set_new(object, "bytes", json_number(report->bytes));
    json_object_set_new(object, "changed_packets", json_number(report->changed_packets));
    json_object_set_new(object, "repaired", counts_json(report->repaired, is_any));
    json_object_set_new(object, "left", counts_json(report->left, tally_names));
    json_object_set_new(object, "damage", damage_json(report));
    json_print(stdout, object);
}

void fix_log(FILE *log, const struct packet *packet, const struct carry_packet_sum *change) {
    const char *protocol = carry_packet_protocol_name(change->protocol);
    const char *verdict = carry_packet_verdict_name(change->verdict);
    json_t *object = json_object();
    json_object_set_new(object, "frame", json_number(packet->number));
    json_object_set_new(object, "offset", json_number(packet->offset + change->field_offset));
    json_object_set_new(object, "protocol", json_string(protocol));
    json_object_set_new(object, "verdict", json_string(verdict));
    json_object_set_new(object, "size", json_number(change->field_size));
    json_object_set_new(object, "old", json_number(change->stored));
    json_object_set_new(object, "new", json_number(change->expected));
    json_print(log, object);
}
