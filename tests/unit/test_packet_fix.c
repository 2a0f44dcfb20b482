/* SPDX-License-Identifier: MIT */
/*
 * Tests finding sums without summing, repairing, and filling in. Right frames are damaged,
 * repaired, and then compared with the original. The functions work on copies that end at a guard
 * page.
 */
#include <carry/packet.h>

#include <stdio.h>
#include <string.h>

#include "harness/frame.h"
#include "harness/guard.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define BIT(verdict) (1u << (verdict))

typedef size_t write_fn(const struct carry_frame *frame, const struct carry_packet_options *options,
                        struct carry_packet_sum *changes, size_t capacity);

static struct guard guard;

/* The sums that the last call of run_on_copy() has changed. */
static struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
static size_t changed;

static struct carry_frame view_of(const struct frame *frame, const uint8_t *data) {
    return (struct carry_frame){
        .data = data,
        .captured = frame->size,
        .wire = frame->wire ? frame->wire : frame->size,
        .linktype = frame->linktype,
    };
}

/* Lets `function` write to a copy of the frame at the guard page, and copies it back. */
static void run_on_copy(write_fn *function, struct frame *frame,
                        const struct carry_packet_options *options) {
    uint8_t *data = guard.end - frame->size;
    memcpy(data, frame->bytes, frame->size);
    const struct carry_frame view = view_of(frame, data);
    changed = function(&view, options, changes, CARRY_PACKET_SUMS_MAX);
    memcpy(frame->bytes, data, frame->size);
}

/* Returns whether two frames are equal except in the two bytes at `field`. */
static bool differ_only_at(const struct frame *a, const struct frame *b, uint32_t field) {
    for (uint32_t i = 0; i < a->size; i++)
        if (a->bytes[i] != b->bytes[i] && i != field && i != field + 1)
            return false;
    return a->size == b->size;
}

/* Returns the frame with `wrong` in a field that contained the right value. */
static struct frame damaged_frame(const struct frame *right, uint32_t field, uint32_t wrong) {
    struct frame frame = *right;
    set16(&frame, field, wrong);
    return frame;
}

static void expect_repair(const struct frame *right, uint32_t field, uint32_t wrong,
                          enum carry_verdict verdict, const char *name) {
    struct frame frame = damaged_frame(right, field, wrong);
    uint32_t good = get16(right, field);
    run_on_copy(carry_packet_fix, &frame, NULL);
    tap_ok(TAP_EQ(changed, 1) && TAP_EQ(changes[0].field_offset, field) &&
               TAP_EQ(changes[0].stored, wrong) && TAP_EQ(changes[0].expected, good) &&
               TAP_EQ(changes[0].verdict, verdict) && TAP_EQ(get16(&frame, field), good) &&
               TAP_TRUE(differ_only_at(&frame, right, field)),
           "%s", name);
    run_on_copy(carry_packet_fix, &frame, NULL);
    tap_ok(TAP_EQ(changed, 0), "%s: a second run changes nothing", name);
}

static void expect_untouched(write_fn *function, const struct frame *frame,
                             const struct carry_packet_options *options, const char *name) {
    struct frame copy = *frame;
    run_on_copy(function, &copy, options);
    tap_ok(TAP_EQ(changed, 0) && TAP_MEMEQ(copy.bytes, frame->bytes, frame->size),
           "not changed: %s", name);
}

/* --- Repairing --- */

static void test_each_verdict_is_repaired(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 25);
    uint32_t tcp = put_tcp(frame, &flow4, 5);
    put(frame, "fffefdfc");
    uint32_t left = pseudo(&flow4, TCP, 25).sum;
    expect_repair(frame, tcp + 16, 0x1234, CARRY_VERDICT_BAD, "bad TCP");
    expect_repair(frame, tcp + 16, 0, CARRY_VERDICT_BAD, "TCP 0");
    expect_repair(frame, tcp + 16, left, CARRY_VERDICT_PARTIAL, "partial TCP");
    expect_repair(frame, ip + 10, 0xabcd, CARRY_VERDICT_BAD, "bad IPv4 header");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 13);
    uint32_t udp = put_udp(frame, &flow6, 5);
    expect_repair(frame, udp + 6, 0, CARRY_VERDICT_ILLEGAL, "UDP 0 over IPv6");
    set16(frame, udp + 6, 0xffff);
    seal(frame, udp + 8, udp, 13, pseudo(&flow6, UDP, 13));
    expect_repair(frame, udp + 6, 0, CARRY_VERDICT_ILLEGAL, "UDP 0 over IPv6 where 0 is computed");
}

static void test_several_at_once(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t outer = put_ip(frame, 4, 20 + 23);
    uint32_t inner = put_inner(frame, false);
    uint32_t tcp = inner + 20;
    struct frame wrong = damaged_frame(frame, outer + 10, 1);
    set16(&wrong, inner + 10, 2);
    set16(&wrong, tcp + 16, 3);
    run_on_copy(carry_packet_fix, &wrong, NULL);
    tap_ok(TAP_MEMEQ(wrong.bytes, frame->bytes, frame->size), "three layers are repaired at once");
    tap_ok(TAP_EQ(changed, 3) && TAP_EQ(changes[0].field_offset, tcp + 16) &&
               TAP_EQ(changes[1].field_offset, inner + 10) &&
               TAP_EQ(changes[2].field_offset, outer + 10),
           "layers are repaired from the innermost outwards");
    tap_ok(TAP_EQ(changes[0].stored, 3) && TAP_EQ(changes[1].stored, 2) &&
               TAP_EQ(changes[2].stored, 1),
           "each repair is logged with the previous value");
}

static void test_good_sums_stay(void) {
    struct frame *frame = start(ETHERNET4);
    put_inner(frame, false);
    expect_untouched(carry_packet_fix, frame, NULL, "good sums");
    expect_untouched(carry_packet_fill, frame, NULL, "good sums, filled in");

    frame = start(ETHERNET4);
    put_ip(frame, TCP, 22);
    uint32_t tcp = put_tcp(frame, &flow4, 2);
    set16(frame, tcp + 16, 0);
    seal(frame, tcp + 20, tcp, 22, pseudo(&flow4, TCP, 22));
    set16(frame, tcp + 16, 0xffff);
    expect_untouched(carry_packet_fix, frame, NULL, "TCP ffff where 0 is computed");

    frame = start(ETHERNET4);
    put_ip(frame, UDP, 12);
    uint32_t udp = put_udp(frame, &flow4, 4);
    set16(frame, udp + 6, 0);
    expect_untouched(carry_packet_fix, frame, NULL, "UDP 0 over IPv4");
}

static void test_only_what_was_asked_for(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 25);
    uint32_t tcp = put_tcp(frame, &flow4, 5);
    uint32_t good = get16(frame, tcp + 16);
    const struct carry_packet_options partial = {.fix = BIT(CARRY_VERDICT_PARTIAL)};
    set16(frame, ip + 10, 1);
    set16(frame, tcp + 16, pseudo(&flow4, TCP, 25).sum);
    run_on_copy(carry_packet_fix, frame, &partial);
    tap_ok(TAP_EQ(changed, 1) && TAP_EQ(get16(frame, tcp + 16), good) &&
               TAP_EQ(get16(frame, ip + 10), 1),
           "only partial sums are completed");
    set16(frame, tcp + 16, 2);
    expect_untouched(carry_packet_fix, frame, &partial, "bad sums that were not requested");
    const struct carry_packet_options unverifiable = {.fix = BIT(CARRY_VERDICT_UNVERIFIABLE)};
    expect_untouched(carry_packet_fix, frame, &unverifiable,
                     "unverifiable sums, which cannot be requested");

    frame = start(ETHERNET4);
    put_ip(frame, UDP, 12);
    uint32_t udp = put_udp(frame, &flow4, 4);
    good = get16(frame, udp + 6);
    set16(frame, udp + 6, 0);
    const struct carry_packet_options absent = {.fix = BIT(CARRY_VERDICT_ABSENT)};
    run_on_copy(carry_packet_fix, frame, &absent);
    tap_ok(TAP_EQ(changed, 1) && TAP_EQ(changes[0].verdict, CARRY_VERDICT_ABSENT) &&
               TAP_EQ(get16(frame, udp + 6), good),
           "absent sums are stored if requested");
}

/* --- Sums that cover sums --- */

/* Offsets of checksums in a frame of TCP in IPv4 in VXLAN (RFC 7348). */
struct tunnel {
    uint32_t outer_udp;
    uint32_t inner_ip;
    uint32_t inner_tcp;
};

#define VXLAN_SIZE (8 + 8 + 14 + 20 + 25)

/* Appends TCP in IPv4 in VXLAN. The outer UDP sum covers the inner packet; seal_outer() makes it
   good. */
static struct tunnel put_vxlan(struct frame *frame) {
    struct tunnel at;
    put_ip(frame, UDP, VXLAN_SIZE);
    at.outer_udp = put(frame, "3039 12b5 0000 0000") + 6;
    set16(frame, at.outer_udp - 2, VXLAN_SIZE);
    put(frame, "08000000 00002a00" ETHERNET4);
    at.inner_ip = put_ip(frame, TCP, 25) + 10;
    at.inner_tcp = put_tcp(frame, &flow4, 5) + 16;
    return at;
}

static void seal_outer(struct frame *frame, const struct tunnel *at) {
    seal(frame, at->outer_udp, at->outer_udp - 6, VXLAN_SIZE, pseudo(&flow4, UDP, VXLAN_SIZE));
}

static void test_outer_sums_wait_for_inner_ones(void) {
    struct frame *frame = start(ETHERNET4);
    const struct tunnel at = put_vxlan(frame);
    seal_outer(frame, &at);
    expect(frame, "ip good, udp good, ip good, tcp good", "TCP in VXLAN");
    const struct frame right = *frame;
    uint32_t left = pseudo(&flow4, TCP, 25).sum;

    struct frame wrong = damaged_frame(&right, at.inner_tcp, left);
    run_on_copy(carry_packet_fix, &wrong, NULL);
    tap_ok(TAP_EQ(changed, 1) && TAP_MEMEQ(wrong.bytes, right.bytes, right.size),
           "an outer sum that an inner repair corrects is not written");

    wrong = damaged_frame(&right, at.inner_tcp, left);
    set16(&wrong, at.outer_udp, pseudo(&flow4, UDP, VXLAN_SIZE).sum);
    run_on_copy(carry_packet_fix, &wrong, NULL);
    tap_ok(TAP_EQ(changed, 2) && TAP_EQ(changes[0].field_offset, at.inner_tcp) &&
               TAP_EQ(changes[1].field_offset, at.outer_udp) &&
               TAP_MEMEQ(wrong.bytes, right.bytes, right.size),
           "two partial sums are completed, from the innermost outwards");

    wrong = right;
    memset(wrong.bytes + at.inner_tcp, 0, 2);
    set16(&wrong, at.inner_ip, 0);
    set16(&wrong, at.outer_udp, 0);
    run_on_copy(carry_packet_fill, &wrong, NULL);
    tap_ok(TAP_EQ(changed, 3) && TAP_MEMEQ(wrong.bytes, right.bytes, right.size),
           "a tunnel without any sums is filled in");
}

static void test_good_outer_sums_follow(void) {
    struct frame *frame = start(ETHERNET4);
    const struct tunnel at = put_vxlan(frame);
    seal_outer(frame, &at);
    const struct frame right = *frame;

    set16(frame, at.inner_tcp, 0x1234);
    seal_outer(frame, &at);
    uint32_t outer = get16(frame, at.outer_udp);
    const struct frame wrong = *frame;
    expect(frame, "ip good, udp good, ip good, tcp bad", "an outer sum over a bad inner one");
    run_on_copy(carry_packet_fix, frame, NULL);
    tap_ok(TAP_EQ(changed, 2) && TAP_EQ(changes[1].verdict, CARRY_VERDICT_GOOD) &&
               TAP_EQ(changes[1].field_offset, at.outer_udp) && TAP_EQ(changes[1].stored, outer) &&
               TAP_EQ(changes[1].expected, get16(&right, at.outer_udp)) &&
               TAP_MEMEQ(frame->bytes, right.bytes, right.size),
           "a good outer sum is updated, though good ones were not requested");

    *frame = wrong;
    set16(frame, at.outer_udp, 0);
    run_on_copy(carry_packet_fix, frame, NULL);
    tap_ok(TAP_EQ(changed, 1) && TAP_EQ(get16(frame, at.outer_udp), 0),
           "an absent outer sum remains absent");

    *frame = wrong;
    set16(frame, at.outer_udp, 0x4321);
    const struct carry_packet_options partial = {.fix = BIT(CARRY_VERDICT_PARTIAL)};
    uint32_t left = pseudo(&flow4, TCP, 25).sum;
    set16(frame, at.inner_tcp, left);
    run_on_copy(carry_packet_fix, frame, &partial);
    tap_ok(TAP_EQ(changed, 1) && TAP_EQ(get16(frame, at.outer_udp), 0x4321),
           "a bad outer sum that was not requested remains bad");
}

static void test_sums_around_partial_ones(void) {
    struct frame *frame = start(ETHERNET4);
    const struct tunnel at = put_vxlan(frame);
    seal_outer(frame, &at);
    const struct frame right = *frame;

    set16(frame, at.inner_ip, 1);
    seal_outer(frame, &at);
    set16(frame, at.inner_tcp, pseudo(&flow4, TCP, 25).sum);
    expect(frame, "ip good, udp partial, ip bad, tcp partial", "a bad sum between partial ones");
    const struct carry_packet_options bad = {.fix = BIT(CARRY_VERDICT_BAD)};
    expect_untouched(carry_packet_fix, frame, &bad, "a bad sum inside a partial one");
    run_on_copy(carry_packet_fix, frame, NULL);
    tap_ok(TAP_EQ(changed, 3) && TAP_MEMEQ(frame->bytes, right.bytes, right.size),
           "a bad sum inside a partial one is repaired if partial sums are");
}

static void test_nothing_changes_in_unverifiable_tunnels(void) {
    struct frame *frame = start(ETHERNET4);
    const struct tunnel at = put_vxlan(frame);
    set16(frame, at.inner_tcp, 0x1234);
    seal_outer(frame, &at);
    set16(frame, 14 + 6, 0x2000);
    seal_ip(frame, 14);
    expect_untouched(carry_packet_fill, frame, NULL, "the first fragment of a tunnel");
}

/* --- Sums that are not changed --- */

/* Checks that repairing and filling in write only the IP header's sum, because the frame contains
   the complete header. */
static void expect_header_alone(const struct frame *frame, uint32_t field, uint32_t good,
                                const char *name) {
    write_fn *const repairs[] = {carry_packet_fix, carry_packet_fill};
    for (size_t i = 0; i < 2; i++) {
        struct frame copy = *frame;
        run_on_copy(repairs[i], &copy, NULL);
        tap_ok(TAP_EQ(changed, 1) && TAP_EQ(get16(&copy, field), good) &&
                   TAP_TRUE(differ_only_at(&copy, frame, field)),
               "%s: only the header is %s", name, i ? "filled in" : "repaired");
    }
}

static void test_fragments_keep_their_content(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 16);
    uint32_t udp = put_udp(frame, &flow4, 8);
    set16(frame, udp + 6, 5);
    static const uint16_t fragments[] = {0x2000, 0x2001, 0x0001};
    for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++) {
        set16(frame, ip + 6, fragments[i]);
        seal_ip(frame, ip);
        uint32_t good = get16(frame, ip + 10);
        set16(frame, ip + 10, 5);
        expect_header_alone(frame, ip + 10, good, "a fragment of IPv4");
    }

    static const char *const headers[] = {"11 00 0001 00000001", "11 00 0009 00000001",
                                          "11 00 0008 00000001"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        frame = start(ETHERNET4);
        ip = put_ip(frame, 41, 40 + 8 + 16);
        put_ipv6(frame, 44, 24);
        put(frame, headers[i]);
        set16(frame, put_udp(frame, &flow6, 8) + 6, 5);
        uint32_t good = get16(frame, ip + 10);
        set16(frame, ip + 10, 5);
        expect_header_alone(frame, ip + 10, good, "a fragment of IPv6 in IPv4");
    }

    frame = start(ETHERNET6);
    put_ipv6(frame, 44, 24);
    put(frame, "11 00 0000 00000001");
    udp = put_udp(frame, &flow6, 8);
    expect_repair(frame, udp + 6, 7, CARRY_VERDICT_BAD, "an atomic fragment is a complete packet");
}

static void test_truncated_frames_keep_what_is_cut(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 16);
    uint32_t udp = put_udp(frame, &flow4, 8);
    uint32_t good = get16(frame, ip + 10);
    set16(frame, ip + 10, 5);
    set16(frame, udp + 6, 5);
    frame->wire = frame->size;
    for (frame->size = 0; frame->size < udp; frame->size++)
        if (run_on_copy(carry_packet_fix, frame, NULL), changed)
            break;
    tap_ok(TAP_EQ(frame->size, udp), "cut within the headers, nothing is repaired");
    for (; frame->size < frame->wire; frame->size++)
        expect_header_alone(frame, ip + 10, good, "cut after the IP header");
}

static void test_unverifiable_sums_are_left(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 16);
    uint32_t udp = put_udp(frame, &flow4, 8);
    set16(frame, udp + 4, 17);
    expect_untouched(carry_packet_fix, frame, NULL, "malformed UDP");
    set16(frame, udp + 6, 0);
    expect_untouched(carry_packet_fill, frame, NULL, "malformed UDP, filled in");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 16);
    udp = put_udp(frame, &flow6, 7);
    set16(frame, udp + 4, 16);
    set16(frame, udp + 6, 0);
    expect_untouched(carry_packet_fill, frame, NULL, "UDP 0 with a length beyond the wire");
}

static void test_quoted_packets_are_left(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 8 + 43);
    uint32_t icmp = put(frame, "03 01 0000 00000000");
    uint32_t inner = put_inner(frame, false);
    set16(frame, inner + 36, pseudo(&flow4, TCP, 23).sum);
    seal(frame, icmp + 2, icmp, 51, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, tcp partial", "an error quotes a partial sum");
    expect_untouched(carry_packet_fix, frame, NULL, "a quoted sum, which is evidence");
    expect_untouched(carry_packet_fill, frame, NULL, "a quoted packet, which is not sent again");
    expect_repair(frame, icmp + 2, 9, CARRY_VERDICT_BAD, "the error itself is repaired");

    uint32_t good = get16(frame, icmp + 2), left = get16(frame, inner + 36);
    set16(frame, inner + 36, 0);
    seal(frame, inner + 36, inner + 20, 23, pseudo(&flow4, TCP, 23));
    seal(frame, icmp + 2, icmp, 51, oracle_start(0));
    uint32_t wrong = get16(frame, icmp + 2);
    set16(frame, inner + 36, left);
    expect(frame, "ip good, icmp bad, ip good, tcp partial",
           "a quoted partial sum, which no card completes");
    set16(frame, icmp + 2, good);
    expect_repair(frame, icmp + 2, wrong, CARRY_VERDICT_BAD, "an error around a partial sum");
}

/* --- Filling in --- */

static void test_fill(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 13);
    uint32_t udp = put_udp(frame, &flow4, 5);
    const uint32_t left = pseudo(&flow4, UDP, 13).sum;
    const uint32_t starts[][2] = {{0, 0}, {0, left}, {0x1234, 0x5678}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct frame sent = damaged_frame(frame, ip + 10, starts[i][0]);
        set16(&sent, udp + 6, starts[i][1]);
        run_on_copy(carry_packet_fill, &sent, NULL);
        tap_ok(TAP_EQ(changed, 2) && TAP_MEMEQ(sent.bytes, frame->bytes, frame->size),
               "sums of %04x and %04x are filled in", starts[i][0], starts[i][1]);
    }
    struct frame sent = damaged_frame(frame, udp + 6, 0);
    const struct carry_packet_options options = {.fix = BIT(CARRY_VERDICT_PARTIAL)};
    expect_untouched(carry_packet_fill, &sent, &options, "absent sums, if so requested");
}

static void test_log_is_bounded(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t inner = put_inner(frame, false);
    struct frame wrong = damaged_frame(frame, inner + 10, 1);
    set16(&wrong, inner + 36, 2);
    struct carry_packet_sum log[2];
    memset(log, 0xa5, sizeof log);
    struct frame copy = wrong;
    const struct carry_frame view = view_of(&copy, copy.bytes);
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, log, 1), 2) && TAP_EQ(log[1].protocol, 0xa5) &&
               TAP_MEMEQ(copy.bytes, frame->bytes, frame->size),
           "with a short log, everything is repaired and counted");
    copy = wrong;
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 2) &&
               TAP_MEMEQ(copy.bytes, frame->bytes, frame->size),
           "no log is needed");
    const struct carry_frame empty = {NULL, 0, 0, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_fix(&empty, NULL, NULL, 0), 0), "an empty frame is not changed");
}

/* --- Finding --- */

/* Finds sums while the payload is on an inaccessible page. */
static void test_walk_sums_nothing(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 8 + 64);
    put_udp(frame, &flow4, 64);
    uint32_t headers = frame->size - 64;
    uint8_t *data = guard.end - headers;
    memcpy(data, frame->bytes, headers);
    const struct carry_frame view = view_of(frame, data);
    struct carry_packet_sum found[2], judged[2];
    size_t count = carry_packet_walk(&view, NULL, found, 2);
    const struct carry_frame whole = view_of(frame, frame->bytes);
    carry_packet_check(&whole, NULL, judged, 2);
    tap_ok(TAP_EQ(count, 2), "the walk reads no covered byte");
    for (size_t i = 0; i < 2; i++) {
        tap_ok(TAP_EQ(found[i].verdict, CARRY_VERDICT_UNVERIFIABLE) &&
                   TAP_EQ(found[i].reason, CARRY_REASON_NONE) && TAP_EQ(found[i].expected, 0),
               "the walk does not judge");
        tap_ok(TAP_EQ(found[i].field_offset, judged[i].field_offset) &&
                   TAP_EQ(found[i].cover_offset, judged[i].cover_offset) &&
                   TAP_EQ(found[i].cover_size, judged[i].cover_size) &&
                   TAP_EQ(found[i].pseudo, judged[i].pseudo) &&
                   TAP_EQ(found[i].stored, judged[i].stored),
               "the walk finds the same sums as the check");
    }
}

static void test_walk_reports_absent_sums(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 12);
    uint32_t udp = put_udp(frame, &flow4, 4);
    struct carry_packet_sum found[2];
    struct carry_frame view = view_of(frame, frame->bytes);
    set16(frame, udp + 6, 0);
    carry_packet_walk(&view, NULL, found, 2);
    tap_ok(TAP_EQ(found[1].verdict, CARRY_VERDICT_ABSENT), "absent");
    set16(frame, udp + 6, 1);
    view.captured--;
    carry_packet_walk(&view, NULL, found, 2);
    tap_ok(TAP_EQ(found[1].verdict, CARRY_VERDICT_UNVERIFIABLE) &&
               TAP_EQ(found[1].reason, CARRY_REASON_SNAPLEN),
           "a short list contains the first sums");
}

static void test_layers(void) {
    struct frame *frame = start(ETHERNET "8100 0064 0800");
    put_ip(frame, 41, 40 + 8 + 12);
    put_ipv6(frame, 60, 20);
    put(frame, "11 00 0104 00000000");
    put_udp(frame, &flow6, 4);
    static const struct carry_packet_layer expected[] = {
        {CARRY_PROTOCOL_ETHERNET, 0}, {CARRY_PROTOCOL_VLAN, 14},         {CARRY_PROTOCOL_IP, 18},
        {CARRY_PROTOCOL_IPV6, 38},    {CARRY_PROTOCOL_IPV6_OPTIONS, 78}, {CARRY_PROTOCOL_UDP, 86},
    };
    enum { LAYERS = sizeof expected / sizeof *expected };
    struct carry_packet_layer layers[CARRY_PACKET_SUMS_MAX];
    const struct carry_frame view = view_of(frame, frame->bytes);
    size_t count = carry_packet_layers(&view, NULL, layers, CARRY_PACKET_SUMS_MAX);
    bool same = TAP_EQ(count, LAYERS);
    for (size_t i = 0; i < LAYERS && same; i++)
        same = TAP_EQ(layers[i].protocol, expected[i].protocol) &&
               TAP_EQ(layers[i].offset, expected[i].offset);
    tap_ok(same, "every header is a layer, with a checksum or without");
    layers[2].protocol = 99;
    tap_ok(TAP_EQ(carry_packet_layers(&view, NULL, layers, 2), 2) && TAP_EQ(layers[2].protocol, 99),
           "no more layers are stored than there is room for");

    struct carry_packet_sum sums[2];
    carry_packet_walk(&view, NULL, sums, 2);
    tap_ok(TAP_EQ(sums[0].pseudo_protocol, 0) && TAP_EQ(sums[0].pseudo_size, 0) &&
               TAP_EQ(sums[1].pseudo_protocol, UDP) && TAP_EQ(sums[1].pseudo_size, 12),
           "the layer contains the pseudo-header's values");

    frame = start(ETHERNET4);
    for (uint32_t depth = 100; depth > 0; depth--)
        put_ip(frame, 4, (depth - 1) * 20);
    const struct carry_frame deep = view_of(frame, frame->bytes);
    tap_ok(TAP_EQ(carry_packet_layers(&deep, NULL, layers, 100), CARRY_PACKET_SUMS_MAX),
           "100 deep");
}

/* --- Options --- */

static size_t count_with(const struct frame *frame, uint32_t flags, struct carry_packet_sum *sums) {
    const struct carry_frame view = view_of(frame, frame->bytes);
    const struct carry_packet_options options = {.flags = flags};
    return carry_packet_check(&view, &options, sums, CARRY_PACKET_SUMS_MAX);
}

static void test_no_tunnels(void) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    static const struct {
        uint8_t protocol;
        bool version6;
        size_t with, without;
    } tunnels[] = {{4, false, 3, 1}, {41, true, 2, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct frame *frame = start(ETHERNET4);
        put_ip(frame, tunnels[i].protocol, tunnels[i].version6 ? 63 : 43);
        put_inner(frame, tunnels[i].version6);
        tap_ok(TAP_EQ(count_with(frame, 0, sums), tunnels[i].with) &&
                   TAP_EQ(count_with(frame, CARRY_PACKET_NO_TUNNELS, sums), tunnels[i].without),
               "IP protocol %u is a tunnel", tunnels[i].protocol);
    }
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 8 + 43);
    put(frame, "03 01 fcfe 00000000");
    put_inner(frame, false);
    tap_ok(TAP_EQ(count_with(frame, CARRY_PACKET_NO_TUNNELS, sums), 4),
           "a packet quoted by ICMP is not in a tunnel");
    tap_ok(TAP_TRUE(!sums[0].quoted) && TAP_TRUE(!sums[1].quoted) && TAP_TRUE(sums[2].quoted) &&
               TAP_TRUE(sums[3].quoted),
           "quoted sums are marked");
}

static void test_udp6_zero(void) {
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 12);
    uint32_t udp = put_udp(frame, &flow6, 4);
    uint32_t good = get16(frame, udp + 6);
    set16(frame, udp + 6, 0);
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    count_with(frame, 0, sums);
    tap_ok(TAP_EQ(sums[0].verdict, CARRY_VERDICT_ILLEGAL) && TAP_EQ(sums[0].expected, good),
           "an illegal sum has an expected value");
    count_with(frame, CARRY_PACKET_UDP6_ZERO_ABSENT, sums);
    tap_ok(TAP_EQ(sums[0].verdict, CARRY_VERDICT_ABSENT),
           "UDP 0 over IPv6 is absent where the caller allows it");
}

/* Tests sound frames with some changed bytes: good sums remain good, and written sums are good. */
static void test_damaged_frames(void) {
    rng_restart();
    bool ok = true;
    for (int round = 0; round < 20000 && ok; round++) {
        bool version6 = round & 1;
        struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
        if (round & 2) {
            version6 ? put_ipv6(frame, 4, 43) : put_ip(frame, 4, 43);
            version6 = false;
        }
        put_inner(frame, version6);
        for (size_t changes_left = 1 + rng_below(4); changes_left; changes_left--)
            frame->bytes[12 + rng_below(frame->size - 12)] = (uint8_t)rng_next();
        struct result before = check(frame);
        run_on_copy(round & 4 ? carry_packet_fix : carry_packet_fill, frame, NULL);
        struct result after = check(frame);
        ok = TAP_EQ(before.count, after.count);
        for (size_t i = 0; i < before.count && ok; i++)
            ok = before.sums[i].verdict != CARRY_VERDICT_GOOD ||
                 after.sums[i].verdict == CARRY_VERDICT_GOOD;
        for (size_t i = 0; i < changed && ok; i++)
            for (size_t j = 0; j < after.count && ok; j++)
                ok = after.sums[j].field_offset != changes[i].field_offset ||
                     after.sums[j].verdict == CARRY_VERDICT_GOOD;
    }
    tap_ok(ok, "in damaged frames, no good sum turns bad and every repair holds");
}

int main(void) {
    guard = guard_open(FRAME_MAX);
    test_each_verdict_is_repaired();
    test_several_at_once();
    test_good_sums_stay();
    test_only_what_was_asked_for();
    test_outer_sums_wait_for_inner_ones();
    test_good_outer_sums_follow();
    test_sums_around_partial_ones();
    test_nothing_changes_in_unverifiable_tunnels();
    test_fragments_keep_their_content();
    test_truncated_frames_keep_what_is_cut();
    test_unverifiable_sums_are_left();
    test_quoted_packets_are_left();
    test_fill();
    test_log_is_bounded();
    test_walk_sums_nothing();
    test_walk_reports_absent_sums();
    test_layers();
    test_no_tunnels();
    test_udp6_zero();
    test_damaged_frames();
    guard_close(&guard);
    return tap_done();
}
