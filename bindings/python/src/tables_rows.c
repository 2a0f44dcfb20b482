/* SPDX-License-Identifier: MIT */
/* The tables, and the values of their columns. */
#include "tables.h"

#include <arpa/inet.h>
#include <string.h>

/* --- Values --- */

static void cell_set_number(struct cell *cell, uint64_t number) {
    cell->number = number;
}

static void cell_set_number_or_null(struct cell *cell, bool is_known, uint64_t number) {
    cell->is_null = !is_known;
    cell->number = number;
}

/* Sets a time. An unknown time (0), and a time too large for Arrow's signed times, become null. */
static void cell_set_time(struct cell *cell, uint64_t time_ns) {
    cell_set_number_or_null(cell, time_ns && time_ns <= INT64_MAX, time_ns);
}

/* Sets text; NULL becomes null. */
static void cell_set_text(struct cell *cell, const char *text) {
    cell->is_null = !text;
    cell->text = text ? text : "";
    cell->size = strlen(cell->text);
}

/* Writes an IPv4 address. Most addresses are IPv4, and inet_ntop() takes ten times as long. */
static size_t write_ipv4(char *text, const uint8_t *bytes) {
    char *out = text;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned byte = bytes[i];
        if (i)
            *out++ = '.';
        if (byte >= 100)
            *out++ = (char)('0' + byte / 100);
        if (byte >= 10)
            *out++ = (char)('0' + byte / 10 % 10);
        *out++ = (char)('0' + byte % 10);
    }
    return (size_t)(out - text);
}

static void cell_set_address(struct cell *cell, const struct carry_capture_address *address) {
    cell->is_null = !address->version;
    cell->text = cell->room;
    if (address->version == 4)
        cell->size = write_ipv4(cell->room, address->bytes);
    else if (address->version)
        cell->size = strlen(inet_ntop(AF_INET6, address->bytes, cell->room, sizeof cell->room));
}

/* --- Files --- */

static void put_files_file(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->found->name);
}

static void put_files_size(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->found->size, row->found->size);
}

static void put_files_packets(struct cell *cell, const struct row *row) {
    cell_set_number(cell, carry_capture_totals(row->found->summary)->packets);
}

static void put_files_bytes(struct cell *cell, const struct row *row) {
    cell_set_number(cell, carry_capture_totals(row->found->summary)->bytes);
}

static void put_files_status(struct cell *cell, const struct row *row) {
    cell_set_text(cell, found_status(row->found));
}

static void put_files_damage_offset(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->found->error.code != CARRY_OK, row->found->error.offset);
}

static void put_files_damage_reason(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->found->error.code != CARRY_OK ? row->found->error.text : NULL);
}

static void put_files_version(struct cell *cell, const struct row *row) {
    (void)row;
    cell_set_text(cell, carry_version_text());
}

static void put_files_first_time(struct cell *cell, const struct row *row) {
    cell_set_time(cell, carry_capture_totals(row->found->summary)->first_ns);
}

static void put_files_last_time(struct cell *cell, const struct row *row) {
    cell_set_time(cell, carry_capture_totals(row->found->summary)->last_ns);
}

static bool files_row(struct row *row, size_t index) {
    (void)row;
    return index == 0;
}

/* --- Counts --- */

static void put_counts_file(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->found->name);
}

static void put_counts_protocol(struct cell *cell, const struct row *row) {
    cell_set_text(cell, carry_packet_protocol_name(row->protocol));
}

static void put_counts_verdict(struct cell *cell, const struct row *row) {
    cell_set_text(cell, carry_packet_verdict_name(row->verdict));
}

static void put_counts_reason(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->reason ? carry_packet_reason_name(row->reason) : NULL);
}

static void put_counts_cause(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->cause ? carry_capture_cause_name(row->cause) : NULL);
}

/* Checks whether a cause explains checksums of the row's verdict. */
static bool cause_explains(unsigned cause, const struct row *row) {
    const struct carry_capture_cause_words *words = carry_capture_describe_cause(cause);
    return words && words->verdict == row->verdict;
}

/* Returns how many checksums of the row's verdict have no cause. */
static uint64_t count_without_cause(const struct row *row) {
    const struct carry_capture_summary *summary = row->found->summary;
    uint64_t count = carry_capture_count(summary, row->protocol, row->verdict);
    for (unsigned cause = CARRY_CAPTURE_CAUSE_NONE + 1; cause < CARRY_CAPTURE_CAUSE_COUNT; cause++)
        if (cause_explains(cause, row))
            count -= carry_capture_cause_count(summary, row->protocol, cause);
    return count;
}

static uint64_t count_checksums(const struct row *row) {
    const struct carry_capture_summary *summary = row->found->summary;
    if (row->reason)
        return carry_capture_reason_count(summary, row->protocol, row->reason);
    if (row->cause)
        return cause_explains(row->cause, row)
                   ? carry_capture_cause_count(summary, row->protocol, row->cause)
                   : 0;
    return row->verdict == CARRY_VERDICT_UNVERIFIABLE ? 0 : count_without_cause(row);
}

static void put_counts_checksums(struct cell *cell, const struct row *row) {
    cell_set_number(cell, count_checksums(row));
}

/* Finds row *index of a protocol and a verdict. Returns false if there are fewer rows, and
   subtracts their number from *index. */
static bool counts_row_of(struct row *row, size_t *index) {
    row->cause = CARRY_CAPTURE_CAUSE_NONE;
    for (row->reason = 0; row->reason < CARRY_REASON_COUNT; row->reason++)
        if ((!row->reason || row->verdict == CARRY_VERDICT_UNVERIFIABLE) && count_checksums(row) &&
            !(*index)--)
            return true;
    row->reason = CARRY_REASON_NONE;
    for (row->cause = 1; row->cause < CARRY_CAPTURE_CAUSE_COUNT; row->cause++)
        if (count_checksums(row) && !(*index)--)
            return true;
    return false;
}

/* Finds row `index` of counts. Unverifiable checksums are counted by reason, others by cause if
   they have one. */
static bool counts_row(struct row *row, size_t index) {
    for (row->protocol = 0; row->protocol < CARRY_PROTOCOL_COUNT; row->protocol++)
        for (row->verdict = 0; row->verdict < CARRY_VERDICT_COUNT; row->verdict++)
            if (carry_capture_count(row->found->summary, row->protocol, row->verdict) &&
                counts_row_of(row, &index))
                return true;
    return false;
}

/* --- Findings --- */

static void put_findings_file(struct cell *cell, const struct row *row) {
    cell_set_text(cell, row->found->name);
}

static void put_findings_frame_number(struct cell *cell, const struct row *row) {
    cell_set_number(cell, row->finding->number);
}

static void put_findings_frame_time(struct cell *cell, const struct row *row) {
    cell_set_time(cell, row->finding->time_ns);
}

static void put_findings_protocol(struct cell *cell, const struct row *row) {
    cell_set_text(cell, carry_packet_protocol_name(row->finding->sum.protocol));
}

static void put_findings_verdict(struct cell *cell, const struct row *row) {
    cell_set_text(cell, carry_packet_verdict_name(row->finding->sum.verdict));
}

static void put_findings_cause(struct cell *cell, const struct row *row) {
    const unsigned cause = row->finding->cause;
    cell_set_text(cell, cause ? carry_capture_cause_name(cause) : NULL);
}

static void put_findings_certain(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->finding->certainty != CARRY_CAPTURE_COMPUTED,
                            row->finding->certainty == CARRY_CAPTURE_CERTAIN);
}

static void put_findings_src_ip(struct cell *cell, const struct row *row) {
    cell_set_address(cell, &row->finding->from);
}

static void put_findings_dst_ip(struct cell *cell, const struct row *row) {
    cell_set_address(cell, &row->finding->to);
}

static void put_findings_src_port(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->finding->from_port >= 0, (uint64_t)row->finding->from_port);
}

static void put_findings_dst_port(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->finding->to_port >= 0, (uint64_t)row->finding->to_port);
}

static void put_findings_stored(struct cell *cell, const struct row *row) {
    cell_set_number(cell, row->finding->sum.stored);
}

static void put_findings_expected(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, carry_capture_has_expected(&row->finding->sum),
                            row->finding->sum.expected);
}

static void put_findings_file_offset(struct cell *cell, const struct row *row) {
    cell_set_number_or_null(cell, row->finding->offset != CARRY_CAPTURE_NOWHERE,
                            row->finding->offset);
}

static bool findings_row(struct row *row, size_t index) {
    return (row->finding = carry_capture_kept(row->found->summary, index));
}

/* --- The tables --- */

#define COLUMN(table, name, type, is_nullable, text)                                               \
    {#name, COLUMN_##type, is_nullable, put_##table##_##name, text},

static const struct column files[] = {
#define FILES(...) COLUMN(files, __VA_ARGS__)
#include "tables.def"
};

static const struct column counts[] = {
#define COUNTS(...) COLUMN(counts, __VA_ARGS__)
#include "tables.def"
};

static const struct column findings[] = {
#define FINDINGS(...) COLUMN(findings, __VA_ARGS__)
#include "tables.def"
};

#define TABLE(name)                                                                                \
    { #name, name, sizeof name / sizeof *name, name##_row }

static const struct table tables[] = {TABLE(files), TABLE(counts), TABLE(findings)};

const struct table *table_at(size_t index) {
    return index < sizeof tables / sizeof *tables ? &tables[index] : NULL;
}

const struct table *table_named(const char *name) {
    const struct table *table;
    for (size_t i = 0; (table = table_at(i)) && strcmp(table->name, name) != 0; i++)
        ;
    return table;
}
