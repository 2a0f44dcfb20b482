/* SPDX-License-Identifier: MIT */
/*
 * Tests selecting packets: every set of the packets of a capture is checked and repaired like a
 * capture of only these packets, and all other packets remain unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/captures.h"
#include "harness/effort.h"
#include "harness/tap.h"

#define SETS (1u << CAPTURE_PACKETS)

/* The selected packets as bits, and the number of requests. */
struct selection {
    unsigned set;
    uint64_t asked;
};

static bool is_in(unsigned set, uint64_t number) {
    return set >> ((number - 1) % CAPTURE_PACKETS) & 1;
}

static bool choose_packet(void *user, const struct carry_capture_packet *packet) {
    struct selection *selection = user;
    selection->asked++;
    return is_in(selection->set, packet->number);
}

static struct carry_capture *open_bytes(const struct bytes *bytes) {
    struct carry_capture *capture;
    carry_capture_open_memory(bytes->data, bytes->size, &capture, NULL);
    return capture;
}

/* Returns a capture of only these packets. */
static struct bytes pick_packets(const struct bytes *bytes, unsigned set) {
    struct bowl bowl = {0};
    const struct carry_capture_sink sink = sink_of(&bowl);
    const struct carry_capture_packet *packet;
    struct carry_capture_writer *writer;
    struct carry_capture *capture = open_bytes(bytes);
    carry_capture_writer_create(NULL, &sink, &writer);
    while (carry_capture_next(capture, &packet) == CARRY_CAPTURE_PACKET)
        if (is_in(set, packet->number))
            carry_capture_writer_add(writer, packet, NULL);
    carry_capture_writer_end(writer);
    carry_capture_writer_free(writer);
    carry_capture_close(capture);
    return bowl.bytes;
}

/* --- Checking --- */

static int check_selected(const struct bytes *bytes,
                          const struct carry_capture_check_options *options,
                          struct carry_capture_summary **summary) {
    struct carry_capture *capture = open_bytes(bytes);
    int code = carry_capture_check(capture, options, summary);
    carry_capture_close(capture);
    return code;
}

static bool is_same(const struct carry_capture_summary *a, const struct carry_capture_summary *b) {
    const struct carry_capture_totals *all = carry_capture_totals(a),
                                      *picked = carry_capture_totals(b);
    bool same = all->packets == picked->packets && all->bytes == picked->bytes &&
                all->without == picked->without && all->unknown_links == picked->unknown_links &&
                all->early == picked->early;
    for (unsigned protocol = 0; protocol < CARRY_PROTOCOL_COUNT; protocol++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
            same &= carry_capture_count(a, protocol, verdict) ==
                    carry_capture_count(b, protocol, verdict);
    for (unsigned i = 0; i < CARRY_CAPTURE_REASSEMBLY_COUNT; i++)
        same &= carry_capture_reassembly_count(a, i) == carry_capture_reassembly_count(b, i);
    return same;
}

static void test_check(const struct bytes *bytes) {
    bool ok = true;
    for (unsigned set = 0; set < SETS && ok; set++) {
        struct selection selection = {.set = set};
        const struct carry_capture_check_options options = {
            .threads = 1, .select = choose_packet, .user = &selection};
        struct carry_capture_summary *selected, *alone = NULL;
        struct bytes picked = pick_packets(bytes, set);
        ok = TAP_EQ(check_selected(bytes, &options, &selected), CARRY_OK) &&
             TAP_EQ(check_selected(&picked, NULL, &alone), CARRY_OK) &&
             TAP_TRUE(is_same(selected, alone)) && TAP_EQ(selection.asked, CAPTURE_PACKETS) &&
             TAP_EQ(carry_capture_totals(selected)->unselected,
                    CAPTURE_PACKETS - (unsigned)__builtin_popcount(set)) &&
             TAP_EQ(carry_capture_totals(alone)->unselected, 0);
        carry_capture_summary_free(selected);
        carry_capture_summary_free(alone);
        bytes_free(&picked);
    }
    tap_ok(ok, "any set of packets is checked like a capture of these packets");
}

static void test_threads(const struct bytes *bytes, unsigned copies) {
    bool ok = true;
    for (uint32_t threads = 1; threads <= 4 && ok; threads++) {
        struct selection selection = {.set = 1u << 1 | 1u << 7};
        const struct carry_capture_check_options options = {
            .threads = threads, .select = choose_packet, .user = &selection};
        struct carry_capture_summary *summary;
        ok = TAP_EQ(check_selected(bytes, &options, &summary), CARRY_OK) &&
             TAP_EQ(selection.asked, (uint64_t)CAPTURE_PACKETS * copies) &&
             TAP_EQ(carry_capture_totals(summary)->packets, UINT64_C(2) * copies) &&
             TAP_EQ(carry_capture_totals(summary)->unselected, UINT64_C(8) * copies) &&
             TAP_EQ(carry_capture_totals(summary)->unknown_links, copies) &&
             TAP_EQ(carry_capture_count(summary, CARRY_PROTOCOL_TCP, CARRY_VERDICT_BAD), copies);
        carry_capture_summary_free(summary);
    }
    tap_ok(ok, "any number of threads gives the same result");
}

static void test_count(const struct bytes *bytes) {
    struct selection selection = {.set = 1u << 1 | 1u << 3 | 1u << 5};
    const struct carry_capture_check_options options = {
        .packets = 2, .select = choose_packet, .user = &selection};
    struct carry_capture_summary *summary, *merged = carry_capture_summary_create();
    check_selected(bytes, &options, &summary);
    carry_capture_summary_merge(merged, summary);
    carry_capture_summary_merge(merged, summary);
    tap_ok(TAP_EQ(selection.asked, 4) && TAP_EQ(carry_capture_totals(summary)->packets, 2) &&
               TAP_EQ(carry_capture_totals(summary)->unselected, 2) &&
               TAP_EQ(carry_capture_totals(merged)->unselected, 4),
           "a limit counts selected packets only");
    carry_capture_summary_free(summary);
    carry_capture_summary_free(merged);
}

/* --- Repairing --- */

static int fix_selected(const struct bytes *bytes, const struct carry_capture_fix_options *options,
                        struct bowl *bowl, struct carry_capture_repairs **repairs) {
    const struct carry_capture_sink sink = sink_of(bowl);
    struct carry_capture *capture = open_bytes(bytes);
    int code = carry_capture_fix(capture, options, &sink, repairs);
    carry_capture_close(capture);
    return code;
}

static bool is_packet(const struct carry_capture_packet *a, const struct carry_capture_packet *b) {
    return a->captured == b->captured && memcmp(a->data, b->data, a->captured) == 0;
}

/*
 * Returns whether the copy has the packets of `picked` where they were selected, and all other
 * packets unchanged.
 */
static bool is_merged(const struct bytes *copy, const struct bytes *before,
                      const struct bytes *picked, unsigned set) {
    struct carry_capture *captures[] = {open_bytes(copy), open_bytes(before), open_bytes(picked)};
    const struct carry_capture_packet *packet, *expected;
    bool same = copy->size == before->size;
    while (same && carry_capture_next(captures[0], &packet) == CARRY_CAPTURE_PACKET) {
        same = carry_capture_next(captures[1], &expected) == CARRY_CAPTURE_PACKET;
        if (same && is_in(set, packet->number))
            same = carry_capture_next(captures[2], &expected) == CARRY_CAPTURE_PACKET;
        same = same && is_packet(packet, expected);
    }
    for (unsigned i = 0; i < 3; i++)
        carry_capture_close(captures[i]);
    return same;
}

static bool repairs_alike(const struct carry_capture_repairs *a,
                          const struct carry_capture_repairs *b) {
    const struct carry_capture_repair_totals *all = carry_capture_repair_totals(a),
                                             *picked = carry_capture_repair_totals(b);
    return all->packets == picked->packets && all->bytes == picked->bytes &&
           all->repaired == picked->repaired && all->left_wrong == picked->left_wrong &&
           all->packets + all->unselected == CAPTURE_PACKETS && picked->unselected == 0;
}

/* Reads the capture once, or twice where bad and partial sums must be distinguished. */
static void test_fix(const struct bytes *bytes, uint32_t verdicts, const char *name) {
    bool ok = true;
    for (unsigned set = 0; set < SETS && ok; set++) {
        struct selection selection = {.set = set};
        const struct carry_capture_fix_options alone = {.packet.fix = verdicts};
        struct carry_capture_fix_options options = alone;
        struct carry_capture_repairs *repairs[2] = {NULL, NULL};
        struct bowl copies[2] = {{.calls = 0}};
        struct bytes picked = pick_packets(bytes, set);
        options.select = choose_packet;
        options.user = &selection;
        ok = TAP_EQ(fix_selected(bytes, &options, &copies[0], &repairs[0]), CARRY_OK) &&
             TAP_EQ(fix_selected(&picked, &alone, &copies[1], &repairs[1]), CARRY_OK) &&
             TAP_TRUE(repairs_alike(repairs[0], repairs[1])) &&
             TAP_TRUE(is_merged(&copies[0].bytes, bytes, &copies[1].bytes, set));
        for (unsigned i = 0; i < 2; i++) {
            carry_capture_repairs_free(repairs[i]);
            bytes_free(&copies[i].bytes);
        }
        bytes_free(&picked);
    }
    tap_ok(ok, "any set of packets is repaired, and no other packet: %s", name);
}

int main(void) {
    const struct effort *effort = effort_chosen();
    const unsigned copies = effort->dense_size > 1000 ? 4000 : 1500;
    struct bytes bytes = make_capture(CARRY_CAPTURE_FORMAT_PCAPNG);
    struct bytes long_one = make_long_capture(copies);
    effort_note(effort);
    test_check(&bytes);
    test_threads(&long_one, copies);
    test_count(&bytes);
    test_fix(&bytes, 0, "all verdicts");
    test_fix(&bytes, 1u << CARRY_VERDICT_PARTIAL, "partial alone");
    bytes_free(&bytes);
    bytes_free(&long_one);
    return tap_done();
}
