/* SPDX-License-Identifier: MIT */
/*
 * IPv4 header sums of 0 that a network card is left to fill in, and those that are damage. Every
 * expect() also cuts the frame at every byte: no cut may turn partial into bad, or bad into
 * partial.
 */
#include <carry/packet.h>

#include <string.h>

#include "harness/frame.h"
#include "harness/tap.h"

#define BIT(verdict) (1u << (verdict))

#define PAYLOAD 30

enum { PIM = 103, SCTP = 132 };

/* Two numbers about the sums of TCP in IPv4: where they stand, or what they should hold. */
struct fields {
    uint32_t ip, tcp;
};

/* The packet has a header sum of 0. */
static struct fields put_empty(struct frame *frame, uint32_t tcp_sum) {
    struct fields at;
    at.ip = put_ip(frame, TCP, 20 + PAYLOAD) + 10;
    at.tcp = put_tcp(frame, &flow4, PAYLOAD) + 16;
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, tcp_sum);
    return at;
}

/* What TCP holds where it is left to the card. */
static uint32_t left(void) {
    return pseudo(&flow4, TCP, 20 + PAYLOAD).sum;
}

/* What both should hold. */
static struct fields right;

static void find_right(void) {
    struct frame *frame = start(ETHERNET4);
    right.ip = get16(frame, put_ip(frame, TCP, 20 + PAYLOAD) + 10);
    right.tcp = get16(frame, put_tcp(frame, &flow4, PAYLOAD) + 16);
}

/* --- What is left to the card --- */

static void test_beside_a_partial_sum(void) {
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, left());
    put(frame, "fffefdfc");
    expect(frame, "ip partial, tcp partial", "a header of 0 beside a partial sum");
    struct result result = check(frame);
    const struct carry_packet_sum *sum = result.sums;
    tap_ok(TAP_EQ(sum->cause, CARRY_CAUSE_HEADER) && TAP_EQ(sum->reason, CARRY_REASON_NONE) &&
               TAP_EQ(sum->stored, 0) && TAP_EQ(sum->expected, right.ip) &&
               TAP_EQ(result.sums[1].cause, CARRY_CAUSE_NONE),
           "it says by what it is told, and what the card stores");
    set16(frame, at.tcp, pseudo(&flow4, TCP, 0).sum);
    expect(frame, "ip partial, tcp partial", "beside one without its length");
    set16(frame, at.ip - 8, 0);
    expect(frame, "ip partial, tcp partial", "large sends leave the total length out, too");

    frame = start(ETHERNET "8100 0007 0800");
    put_ip_options(frame, UDP, 20, "01010101");
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, 18 + 10, 0);
    set16(frame, udp + 6, pseudo(&flow4, UDP, 20).sum);
    expect(frame, "ip partial, udp partial", "UDP behind options, in a VLAN");
}

static void test_in_tunnels(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t outer = put_ip(frame, 4, 20 + 20 + PAYLOAD);
    struct fields at = put_empty(frame, left());
    expect(frame, "ip good, ip partial, tcp partial", "the inner header alone");
    set16(frame, outer + 10, 0);
    expect(frame, "ip partial, ip partial, tcp partial", "both headers");
    set16(frame, at.ip, right.ip);
    expect(frame, "ip partial, ip good, tcp partial", "the outer header alone");
    set16(frame, at.tcp, right.tcp);
    expect(frame, "ip bad, ip good, tcp good", "nothing in the tunnel is partial");
}

/* As Linux leaves it: what is outside is right for when all that is inside is complete. */
static void test_sums_around(void) {
    enum { SIZE = 8 + 8 + 14 + 20 + 20 + PAYLOAD };
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, SIZE);
    uint32_t udp = put(frame, "3039 12b5 0000 0000");
    set16(frame, udp + 4, SIZE);
    put(frame, "08000000 00002a00" ETHERNET4);
    struct fields at = put_empty(frame, 0);
    set16(frame, at.ip, right.ip);
    set16(frame, at.tcp, right.tcp);
    seal(frame, udp + 6, udp, SIZE, pseudo(&flow4, UDP, SIZE));
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, left());
    expect(frame, "ip good, udp partial, ip partial, tcp partial", "UDP around two that are left");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].expected, result.sums[1].stored) &&
               TAP_EQ(result.sums[2].expected, right.ip),
           "UDP is right already");
    set16(frame, at.ip, right.ip ^ 1);
    expect(frame, "ip good, udp bad, ip bad, tcp partial", "not around a header that is bad");
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, right.tcp);
    expect(frame, "ip good, udp bad, ip bad, tcp good", "nor around a 0 that is damage");
}

/* --- What is not --- */

static void test_near_misses(void) {
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, right.tcp);
    expect(frame, "ip bad, tcp good", "a header of 0 beside a sum that is right");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[0].cause, CARRY_CAUSE_NONE) &&
               TAP_EQ(result.sums[0].expected, right.ip),
           "it is damage like any other");
    set16(frame, at.tcp, right.tcp ^ 0x0100);
    expect(frame, "ip bad, tcp bad", "beside one that is bad");
    set16(frame, at.tcp, 0);
    expect(frame, "ip bad, tcp bad", "beside one that is 0, too");
    set16(frame, at.tcp, ~left() & 0xffff);
    expect(frame, "ip bad, tcp bad", "beside the sum of the pseudo-header, inverted");
    set16(frame, at.tcp, left());
    static const uint16_t others[] = {0x0001, 0xffff, 0x8000};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        set16(frame, at.ip, others[i]);
        expect(frame, "ip bad, tcp partial", "a header of %#x beside a partial sum", others[i]);
    }
    set16(frame, at.ip, right.ip);
    expect(frame, "ip good, tcp partial", "a header that is right");
}

static void test_without_a_partial_sum(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 20);
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, ip + 10, 0);
    set16(frame, udp + 6, 0);
    expect(frame, "ip bad, udp absent", "beside a UDP sum that the sender left out");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ICMP, 12);
    uint32_t icmp = put(frame, "08 00 0000 0001 0002 31323334");
    seal(frame, icmp + 2, icmp, 12, oracle_start(0));
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, icmp good", "beside ICMP, which has no pseudo-header");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ESP, 40);
    put_many(frame, 40, 0x11, 13);
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad", "before what cannot be looked into");

    frame = start(ETHERNET4);
    ip = put_ip(frame, SCTP, 28);
    put(frame, "1389 c001 12345678 00000001 00 03 0010 00000001 0000 0000 00000000");
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, sctp bad", "beside SCTP that is bad");

    frame = start(ETHERNET4);
    ip = put(frame, "45 00 0014 0000 0000 40 fd 0000" SRC4 DST4);
    seal_ip(frame, ip);
    set16(frame, ip + 4, get16(frame, ip + 10));
    set16(frame, ip + 10, 0);
    expect(frame, "ip good", "a 0 that verifies");
}

static void test_fragments(void) {
    struct frame *frame = start(ETHERNET4);
    struct fields at = put_empty(frame, left());
    set16(frame, at.ip - 4, 0x2000);
    expect(frame, "ip bad, tcp unverifiable/fragment", "a first fragment: cards cut none");
    set16(frame, at.ip - 4, 0x0010);
    expect(frame, "ip bad", "another fragment");

    frame = start(ETHERNET4);
    uint32_t outer = put_ip(frame, 4, 20 + 20 + 20 + PAYLOAD);
    set16(frame, outer + 6, 0x2000);
    seal(frame, outer + 10, outer, 20, oracle_start(0));
    uint32_t around = put_ip(frame, 4, 20 + 20 + PAYLOAD);
    set16(frame, around + 10, 0);
    put_empty(frame, left());
    expect(frame, "ip good, ip partial, ip partial, tcp partial", "whole packets in a fragment");
}

/* No card completes what an ICMP error quotes. */
static void test_quotes(void) {
    enum { SIZE = 8 + 20 + 20 + PAYLOAD };
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, ICMP, SIZE);
    uint32_t icmp = put(frame, "03 03 0000 00000000");
    struct fields at = put_empty(frame, left());
    seal(frame, icmp + 2, icmp, SIZE, oracle_start(0));
    expect(frame, "ip good, icmp good, ip unverifiable/quoted, tcp partial",
           "a quoted header of 0");
    set16(frame, at.ip, right.ip);
    seal(frame, icmp + 2, icmp, SIZE, oracle_start(0));
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, icmp good, ip good, tcp partial", "a quoted sum says nothing outside");
}

/* The sums of another packet in the same frame say nothing. */
static void test_neighbours(void) {
    struct frame *frame = start("8801 2c00 020000000001 020000000002 020000000003 1000 8000");
    frame->linktype = 105;
    for (int second = 0; second < 2; second++) {
        put(frame, ETHERNET "004e aaaa03 000000 0800");
        struct fields at = put_empty(frame, second ? left() : right.tcp);
        set16(frame, at.ip, second ? right.ip : 0);
    }
    expect(frame, "ip bad, tcp good, ip good, tcp partial", "two packets in an A-MSDU");
}

/* --- What a cut leaves --- */

static void expect_cut(const struct frame *frame, uint32_t captured, enum carry_verdict verdict,
                       const char *name) {
    struct result result = check_cut(frame, captured);
    bool hidden = verdict == CARRY_VERDICT_UNVERIFIABLE;
    tap_ok(TAP_EQ(result.sums[0].verdict, verdict) &&
               TAP_EQ(result.sums[0].reason, hidden ? CARRY_REASON_SNAPLEN : CARRY_REASON_NONE) &&
               TAP_EQ(result.sums[0].cause, hidden ? CARRY_CAUSE_HEADER : CARRY_CAUSE_NONE),
           "%s", name);
}

static void test_cuts(void) {
    enum { TCP_FIELD_END = 14 + 20 + 18 };
    struct frame *frame = start(ETHERNET4);
    struct fields at = put_empty(frame, left());
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_UNVERIFIABLE, "TCP that looks partial");
    expect_cut(frame, TCP_FIELD_END, CARRY_VERDICT_UNVERIFIABLE, "its field, and no more");
    expect_cut(frame, TCP_FIELD_END - 1, CARRY_VERDICT_UNVERIFIABLE, "half of its field");
    expect_cut(frame, 14 + 20, CARRY_VERDICT_UNVERIFIABLE, "the header alone");
    set16(frame, at.tcp, right.tcp);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_BAD, "TCP that is not partial, cut");
    expect_cut(frame, TCP_FIELD_END, CARRY_VERDICT_BAD, "its field shows that");
    expect_cut(frame, TCP_FIELD_END - 1, CARRY_VERDICT_UNVERIFIABLE, "half of its field does not");

    frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 20);
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, ip + 10, 0);
    set16(frame, udp + 6, 0);
    expect_cut(frame, udp + 8, CARRY_VERDICT_BAD, "UDP that is absent, cut");
    set16(frame, udp + 2, 4789);
    expect_cut(frame, udp + 8, CARRY_VERDICT_UNVERIFIABLE, "on the port of a tunnel");

    frame = start(ETHERNET4);
    ip = put_ip(frame, 41, 40 + 8 + 20 + 20 + PAYLOAD);
    put_ipv6(frame, PIM, 8 + 20 + 20 + PAYLOAD);
    put(frame, "21 00 0000 00000000");
    put_ip(frame, TCP, 20 + PAYLOAD);
    put_tcp(frame, &flow4, PAYLOAD);
    set16(frame, ip + 10, 0);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_UNVERIFIABLE,
               "PIM, of which only the whole tells whether it is partial");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ICMP, 8 + 128 + 12);
    put(frame, "03 03 0000 00 20 0000");
    uint32_t quote = put_empty(frame, left()).ip - 10;
    put_many(frame, quote + 128 - frame->size, 0, 0);
    put(frame, "2000 0000 0008 0101 00000000");
    set16(frame, ip + 10, 0);
    expect_cut(frame, quote + 40, CARRY_VERDICT_BAD, "in what an ICMP error quotes");
    expect_cut(frame, quote + 128 + 2, CARRY_VERDICT_BAD, "in the extension behind that");

    frame = start(ETHERNET4);
    ip = put_ip(frame, 41, 40 + 8 + 40 + 8 + 4);
    put_ipv6(frame, ICMPV6, 8 + 40 + 8);
    put(frame, "01 00 0000 00000000");
    put_ipv6(frame, ESP, 8);
    put_many(frame, 8 + 4, 0x11, 13);
    set16(frame, ip + 10, 0);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_BAD, "behind an ICMPv6 error");
}

/* --- Finding and repairing --- */

static size_t changes_of(size_t (*function)(const struct carry_frame *,
                                            const struct carry_packet_options *,
                                            struct carry_packet_sum *, size_t),
                         struct frame *frame, uint32_t fix, struct carry_packet_sum *changes) {
    const struct carry_frame view = {frame->bytes, frame->size,
                                     frame->wire ? frame->wire : frame->size, LINK_ETHERNET, 0};
    const struct carry_packet_options options = {.fix = fix};
    return function(&view, &options, changes, CARRY_PACKET_SUMS_MAX);
}

static void test_repair(void) {
    struct carry_packet_sum changes[CARRY_PACKET_SUMS_MAX];
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, left());
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_BAD), changes), 0),
           "what is left to the card is not bad");
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_PARTIAL), changes), 2) &&
               TAP_EQ(get16(frame, at.ip), right.ip) && TAP_EQ(get16(frame, at.tcp), right.tcp) &&
               TAP_EQ(changes[1].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(changes[1].cause, CARRY_CAUSE_HEADER),
           "both are partial");
    set16(frame, at.ip, 0);
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_PARTIAL), changes), 0),
           "a 0 by itself is not partial");
    set16(frame, at.tcp, left());
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, 0, changes), 2),
           "both are repaired by default");
    set16(frame, at.ip, 0);
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 1) &&
               TAP_EQ(changes[0].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "a 0 by itself is filled in");
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, left());
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 2) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "so are both");
    set16(frame, at.ip, 0);
    frame->wire = frame->size;
    frame->size = 14 + 20;
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 1) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "so is the header of a packet of which there is no more");
}

static void test_options(void) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct frame *frame = start(ETHERNET4);
    put_empty(frame, left());
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_check(&view, NULL, sums, 1), 1) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_BAD),
           "without room for the sum that tells, it is bad");
    tap_ok(TAP_EQ(carry_packet_walk(&view, NULL, sums, 2), 2) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_UNVERIFIABLE) &&
               TAP_EQ(sums[0].reason, CARRY_REASON_NONE) && TAP_EQ(sums[0].cause, CARRY_CAUSE_NONE),
           "nothing is said where nothing is summed");
    tap_ok(TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_NONE), "none") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_HEADER), "header") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_ADLER32), "adler32") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_COUNT), "unknown"),
           "causes have names");
}

/* Of headers, and of nothing else: what says that a sender leaves them to a card. */
static void test_known_sender(void) {
    const struct carry_packet_options known = {.flags = CARRY_PACKET_IP_ZERO_PARTIAL,
                                               .fix = BIT(CARRY_VERDICT_PARTIAL)};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, right.tcp);
    struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_check(&view, &known, sums, 2), 2) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(sums[0].cause, CARRY_CAUSE_NONE) && TAP_EQ(sums[0].expected, right.ip) &&
               TAP_EQ(sums[1].verdict, CARRY_VERDICT_GOOD),
           "a 0 by itself is partial");
    view.captured = 14 + 20;
    tap_ok(TAP_GE(carry_packet_check(&view, &known, sums, 2), 1) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(sums[0].reason, CARRY_REASON_NONE),
           "so it is where the rest is not there");
    view.captured = frame->size;
    tap_ok(TAP_EQ(carry_packet_fix(&view, &known, sums, 2), 1) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "and is repaired as that");
    set16(frame, at.ip, 1);
    tap_ok(TAP_EQ(carry_packet_check(&view, &known, sums, 2), 2) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(carry_packet_fix(&view, &known, sums, 2), 0),
           "any other value is bad");
    set16(frame, at.ip, right.ip);
    set16(frame, at.tcp, 0);
    tap_ok(TAP_EQ(carry_packet_check(&view, &known, sums, 2), 2) &&
               TAP_EQ(sums[1].verdict, CARRY_VERDICT_BAD),
           "so is a 0 of TCP");
}

int main(void) {
    find_right();
    test_beside_a_partial_sum();
    test_in_tunnels();
    test_sums_around();
    test_near_misses();
    test_without_a_partial_sum();
    test_fragments();
    test_quotes();
    test_neighbours();
    test_cuts();
    test_repair();
    test_options();
    test_known_sender();
    return tap_done();
}
