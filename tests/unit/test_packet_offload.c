/* SPDX-License-Identifier: MIT */
/*
 * Tests IPv4 header sums of 0 that are left to a network card, and sums of 0 that are damage. Every
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

/* The offsets, or the values, of the sums of an IPv4 header and of TCP. */
struct fields {
    uint32_t ip, tcp;
};

/* Appends a packet with an IPv4 header sum of 0. */
static struct fields put_empty(struct frame *frame, uint32_t tcp_sum) {
    struct fields at;
    at.ip = put_ip(frame, TCP, 20 + PAYLOAD) + 10;
    at.tcp = put_tcp(frame, &flow4, PAYLOAD) + 16;
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, tcp_sum);
    return at;
}

/* Returns the value of the TCP field if the TCP sum is left to the card. */
static uint32_t left_to_card(void) {
    return pseudo(&flow4, TCP, 20 + PAYLOAD).sum;
}

/* The right values of the IPv4 header sum and of the TCP sum. */
static struct fields right;

static void find_right(void) {
    struct frame *frame = start(ETHERNET4);
    right.ip = get16(frame, put_ip(frame, TCP, 20 + PAYLOAD) + 10);
    right.tcp = get16(frame, put_tcp(frame, &flow4, PAYLOAD) + 16);
}

/* --- Sums that are left to the card --- */

static void test_beside_a_partial_sum(void) {
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, left_to_card());
    put(frame, "fffefdfc");
    expect(frame, "ip partial, tcp partial", "a header of 0 beside a partial sum");
    struct result result = check(frame);
    const struct carry_packet_sum *sum = result.sums;
    tap_ok(TAP_EQ(sum->cause, CARRY_CAUSE_HEADER) && TAP_EQ(sum->reason, CARRY_REASON_NONE) &&
               TAP_EQ(sum->stored, 0) && TAP_EQ(sum->expected, right.ip) &&
               TAP_EQ(result.sums[1].cause, CARRY_CAUSE_NONE),
           "its cause and the value that the card stores are reported");
    set16(frame, at.tcp, pseudo(&flow4, TCP, 0).sum);
    expect(frame, "ip partial, tcp partial",
           "a header of 0 beside a partial sum without its length");
    set16(frame, at.ip - 8, 0);
    expect(frame, "ip partial, tcp partial",
           "a header of 0 without its total length, as in large sends");

    frame = start(ETHERNET "8100 0007 0800");
    put_ip_options(frame, UDP, 20, "01010101");
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, 18 + 10, 0);
    set16(frame, udp + 6, pseudo(&flow4, UDP, 20).sum);
    expect(frame, "ip partial, udp partial", "UDP after options, in a VLAN");
}

static void test_in_tunnels(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t outer = put_ip(frame, 4, 20 + 20 + PAYLOAD);
    struct fields at = put_empty(frame, left_to_card());
    expect(frame, "ip good, ip partial, tcp partial", "only the inner header is 0");
    set16(frame, outer + 10, 0);
    expect(frame, "ip partial, ip partial, tcp partial", "both headers are 0");
    set16(frame, at.ip, right.ip);
    expect(frame, "ip partial, ip good, tcp partial", "only the outer header is 0");
    set16(frame, at.tcp, right.tcp);
    expect(frame, "ip bad, ip good, tcp good", "nothing in the tunnel is partial");
}

/* Outer sums hold the values that are right once inner sums are completed, as Linux stores them. */
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
    set16(frame, at.tcp, left_to_card());
    expect(frame, "ip good, udp partial, ip partial, tcp partial",
           "UDP around two sums that are left to the card");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].expected, result.sums[1].stored) &&
               TAP_EQ(result.sums[2].expected, right.ip),
           "the expected value of UDP equals the stored one");
    set16(frame, at.ip, right.ip ^ 1);
    expect(frame, "ip good, udp bad, ip bad, tcp partial", "UDP around a bad header is bad");
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, right.tcp);
    expect(frame, "ip good, udp bad, ip bad, tcp good", "UDP around a 0 that is damage is bad");
}

/* --- Sums that are not left to the card --- */

static void test_near_misses(void) {
    struct frame *frame = start(ETHERNET4);
    const struct fields at = put_empty(frame, right.tcp);
    expect(frame, "ip bad, tcp good", "a header of 0 beside a right sum is bad");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[0].cause, CARRY_CAUSE_NONE) &&
               TAP_EQ(result.sums[0].expected, right.ip),
           "such a header has no cause");
    set16(frame, at.tcp, right.tcp ^ 0x0100);
    expect(frame, "ip bad, tcp bad", "a header of 0 beside a bad sum is bad");
    set16(frame, at.tcp, 0);
    expect(frame, "ip bad, tcp bad", "a header of 0 beside a sum of 0 is bad");
    set16(frame, at.tcp, ~left_to_card() & 0xffff);
    expect(frame, "ip bad, tcp bad",
           "a header of 0 beside the inverted sum of the pseudo-header is bad");
    set16(frame, at.tcp, left_to_card());
    static const uint16_t others[] = {0x0001, 0xffff, 0x8000};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        set16(frame, at.ip, others[i]);
        expect(frame, "ip bad, tcp partial", "a header of %#x beside a partial sum", others[i]);
    }
    set16(frame, at.ip, right.ip);
    expect(frame, "ip good, tcp partial", "a right header beside a partial sum is good");
}

static void test_without_a_partial_sum(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 20);
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, ip + 10, 0);
    set16(frame, udp + 6, 0);
    expect(frame, "ip bad, udp absent", "a header of 0 beside an absent UDP sum is bad");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ICMP, 12);
    uint32_t icmp = put(frame, "08 00 0000 0001 0002 31323334");
    seal(frame, icmp + 2, icmp, 12, oracle_start(0));
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, icmp good",
           "a header of 0 beside ICMP, which has no pseudo-header, is bad");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ESP, 40);
    put_many(frame, 40, 0x11, 13);
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad", "a header of 0 before an unknown protocol is bad");

    frame = start(ETHERNET4);
    ip = put_ip(frame, SCTP, 28);
    put(frame, "1389 c001 12345678 00000001 00 03 0010 00000001 0000 0000 00000000");
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, sctp bad", "a header of 0 beside bad SCTP is bad");

    frame = start(ETHERNET4);
    ip = put(frame, "45 00 0014 0000 0000 40 fd 0000" SRC4 DST4);
    seal_ip(frame, ip);
    set16(frame, ip + 4, get16(frame, ip + 10));
    set16(frame, ip + 10, 0);
    expect(frame, "ip good", "a header of 0 that verifies is good");
}

static void test_fragments(void) {
    struct frame *frame = start(ETHERNET4);
    struct fields at = put_empty(frame, left_to_card());
    set16(frame, at.ip - 4, 0x2000);
    expect(frame, "ip bad, tcp unverifiable/fragment",
           "a header of 0 in a first fragment is bad: cards do not fragment");
    set16(frame, at.ip - 4, 0x0010);
    expect(frame, "ip bad", "a header of 0 in another fragment is bad");

    frame = start(ETHERNET4);
    uint32_t outer = put_ip(frame, 4, 20 + 20 + 20 + PAYLOAD);
    set16(frame, outer + 6, 0x2000);
    seal(frame, outer + 10, outer, 20, oracle_start(0));
    uint32_t around = put_ip(frame, 4, 20 + 20 + PAYLOAD);
    set16(frame, around + 10, 0);
    put_empty(frame, left_to_card());
    expect(frame, "ip good, ip partial, ip partial, tcp partial", "complete packets in a fragment");
}

/* No card completes a packet that an ICMP error quotes. */
static void test_quotes(void) {
    enum { SIZE = 8 + 20 + 20 + PAYLOAD };
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, ICMP, SIZE);
    uint32_t icmp = put(frame, "03 03 0000 00000000");
    struct fields at = put_empty(frame, left_to_card());
    seal(frame, icmp + 2, icmp, SIZE, oracle_start(0));
    expect(frame, "ip good, icmp good, ip unverifiable/quoted, tcp partial",
           "a quoted header of 0");
    set16(frame, at.ip, right.ip);
    seal(frame, icmp + 2, icmp, SIZE, oracle_start(0));
    set16(frame, ip + 10, 0);
    expect(frame, "ip bad, icmp good, ip good, tcp partial",
           "a quoted partial sum does not affect the outer header");
}

/* A partial sum of another packet in the same frame has no effect. */
static void test_neighbours(void) {
    struct frame *frame = start("8801 2c00 020000000001 020000000002 020000000003 1000 8000");
    frame->linktype = 105;
    for (int second = 0; second < 2; second++) {
        put(frame, ETHERNET "004e aaaa03 000000 0800");
        struct fields at = put_empty(frame, second ? left_to_card() : right.tcp);
        set16(frame, at.ip, second ? right.ip : 0);
    }
    expect(frame, "ip bad, tcp good, ip good, tcp partial", "two packets in an A-MSDU");
}

/* --- Cut frames --- */

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
    struct fields at = put_empty(frame, left_to_card());
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_UNVERIFIABLE, "TCP that looks partial");
    expect_cut(frame, TCP_FIELD_END, CARRY_VERDICT_UNVERIFIABLE,
               "TCP that looks partial, cut after its field");
    expect_cut(frame, TCP_FIELD_END - 1, CARRY_VERDICT_UNVERIFIABLE,
               "TCP that looks partial, cut within its field");
    expect_cut(frame, 14 + 20, CARRY_VERDICT_UNVERIFIABLE,
               "TCP that looks partial, cut before TCP");
    set16(frame, at.tcp, right.tcp);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_BAD, "TCP that is not partial, cut by a byte");
    expect_cut(frame, TCP_FIELD_END, CARRY_VERDICT_BAD,
               "TCP that is not partial, cut after its field");
    expect_cut(frame, TCP_FIELD_END - 1, CARRY_VERDICT_UNVERIFIABLE,
               "TCP that is not partial, cut within its field");

    frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 20);
    uint32_t udp = put_udp(frame, &flow4, 12);
    set16(frame, ip + 10, 0);
    set16(frame, udp + 6, 0);
    expect_cut(frame, udp + 8, CARRY_VERDICT_BAD, "UDP that is absent, cut");
    set16(frame, udp + 2, 4789);
    expect_cut(frame, udp + 8, CARRY_VERDICT_UNVERIFIABLE,
               "UDP that is absent, cut, on the port of a tunnel");

    frame = start(ETHERNET4);
    ip = put_ip(frame, 41, 40 + 8 + 20 + 20 + PAYLOAD);
    put_ipv6(frame, PIM, 8 + 20 + 20 + PAYLOAD);
    put(frame, "21 00 0000 00000000");
    put_ip(frame, TCP, 20 + PAYLOAD);
    put_tcp(frame, &flow4, PAYLOAD);
    set16(frame, ip + 10, 0);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_UNVERIFIABLE,
               "PIM, where only the complete packet shows whether it is partial");

    frame = start(ETHERNET4);
    ip = put_ip(frame, ICMP, 8 + 128 + 12);
    put(frame, "03 03 0000 00 20 0000");
    uint32_t quote = put_empty(frame, left_to_card()).ip - 10;
    put_many(frame, quote + 128 - frame->size, 0, 0);
    put(frame, "2000 0000 0008 0101 00000000");
    set16(frame, ip + 10, 0);
    expect_cut(frame, quote + 40, CARRY_VERDICT_BAD, "in the quote of an ICMP error");
    expect_cut(frame, quote + 128 + 2, CARRY_VERDICT_BAD, "in the extension after the quote");

    frame = start(ETHERNET4);
    ip = put_ip(frame, 41, 40 + 8 + 40 + 8 + 4);
    put_ipv6(frame, ICMPV6, 8 + 40 + 8);
    put(frame, "01 00 0000 00000000");
    put_ipv6(frame, ESP, 8);
    put_many(frame, 8 + 4, 0x11, 13);
    set16(frame, ip + 10, 0);
    expect_cut(frame, frame->size - 1, CARRY_VERDICT_BAD, "after an ICMPv6 error");
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
    const struct fields at = put_empty(frame, left_to_card());
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_BAD), changes), 0),
           "sums that are left to the card are not bad");
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_PARTIAL), changes), 2) &&
               TAP_EQ(get16(frame, at.ip), right.ip) && TAP_EQ(get16(frame, at.tcp), right.tcp) &&
               TAP_EQ(changes[1].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(changes[1].cause, CARRY_CAUSE_HEADER),
           "both sums are partial");
    set16(frame, at.ip, 0);
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, BIT(CARRY_VERDICT_PARTIAL), changes), 0),
           "a header of 0 alone is not partial");
    set16(frame, at.tcp, left_to_card());
    tap_ok(TAP_EQ(changes_of(carry_packet_fix, frame, 0, changes), 2),
           "both sums are repaired by default");
    set16(frame, at.ip, 0);
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 1) &&
               TAP_EQ(changes[0].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "a header of 0 alone is filled in");
    set16(frame, at.ip, 0);
    set16(frame, at.tcp, left_to_card());
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 2) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "both sums are filled in");
    set16(frame, at.ip, 0);
    frame->wire = frame->size;
    frame->size = 14 + 20;
    tap_ok(TAP_EQ(changes_of(carry_packet_fill, frame, 0, changes), 1) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "the header of a packet without content is filled in");
}

static void test_options(void) {
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct frame *frame = start(ETHERNET4);
    put_empty(frame, left_to_card());
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_check(&view, NULL, sums, 1), 1) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_BAD),
           "without room for the sum that shows offload, the header is bad");
    tap_ok(TAP_EQ(carry_packet_walk(&view, NULL, sums, 2), 2) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_UNVERIFIABLE) &&
               TAP_EQ(sums[0].reason, CARRY_REASON_NONE) && TAP_EQ(sums[0].cause, CARRY_CAUSE_NONE),
           "the walk, which does not sum, reports no cause");
    tap_ok(TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_NONE), "none") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_HEADER), "header") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_ADLER32), "adler32") &&
               TAP_STREQ(carry_packet_cause_name(CARRY_CAUSE_COUNT), "unknown"),
           "causes have names");
}

/* Tests the flag for a sender that leaves its IPv4 header sums, and no other sums, to a card. */
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
           "with the flag, a header of 0 alone is partial");
    view.captured = 14 + 20;
    tap_ok(TAP_GE(carry_packet_check(&view, &known, sums, 2), 1) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_PARTIAL) &&
               TAP_EQ(sums[0].reason, CARRY_REASON_NONE),
           "with the flag, a header of 0 in a cut frame is partial");
    view.captured = frame->size;
    tap_ok(TAP_EQ(carry_packet_fix(&view, &known, sums, 2), 1) &&
               TAP_EQ(get16(frame, at.ip), right.ip),
           "with the flag, a header of 0 is repaired as a partial one");
    set16(frame, at.ip, 1);
    tap_ok(TAP_EQ(carry_packet_check(&view, &known, sums, 2), 2) &&
               TAP_EQ(sums[0].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(carry_packet_fix(&view, &known, sums, 2), 0),
           "with the flag, any other wrong value is bad");
    set16(frame, at.ip, right.ip);
    set16(frame, at.tcp, 0);
    tap_ok(TAP_EQ(carry_packet_check(&view, &known, sums, 2), 2) &&
               TAP_EQ(sums[1].verdict, CARRY_VERDICT_BAD),
           "with the flag, a TCP sum of 0 is bad");
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
