/* SPDX-License-Identifier: MIT */
/* Tests the packet walk, rule by rule, on frames that are made here. */
#include <carry/packet.h>

#include <stdio.h>
#include <string.h>

#include "harness/frame.h"
#include "harness/rng.h"
#include "harness/tap.h"

/* --- Lengths --- */

static void test_padding_and_trailers_lie_outside(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, TCP, 21);
    put_tcp(frame, &flow4, 1);
    put(frame, "fffefdfcfb");
    expect(frame, "ip good, tcp good", "padding and FCS after IPv4 are not covered");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 9);
    put_udp(frame, &flow6, 1);
    put(frame, "fffefdfcfb");
    expect(frame, "udp good", "a trailer after IPv6 is not covered");
}

static void test_udp_covers_its_own_length(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 8 + 5 + 3);
    uint32_t udp = put_udp(frame, &flow4, 5);
    put(frame, "aabbcc");
    expect(frame, "ip good, udp good", "UDP covers its own length, below that of IP");

    static const uint16_t wrong[] = {1, 7, 17, 0xffff};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        set16(frame, udp + 4, wrong[i]);
        expect(frame, "ip good, udp unverifiable/malformed", "UDP length %u in 16 bytes", wrong[i]);
    }
    set16(frame, udp + 4, 0);
    expect(frame, "ip good, udp unverifiable/malformed", "UDP length 0 in a short IPv4 packet");
    set16(frame, udp + 6, 0);
    expect(frame, "ip good, udp unverifiable/malformed",
           "the same without a checksum is malformed, too");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 13);
    udp = put_udp(frame, &flow6, 5);
    set16(frame, udp + 4, 0);
    seal(frame, udp + 6, udp, 13, pseudo(&flow6, UDP, 13));
    expect(frame, "udp good", "UDP length 0 over IPv6: to the end of the packet");
}

static void test_udplite_coverage(void) {
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, UDPLITE, 8 + 6);
    uint32_t udplite = put(frame, "3039 1092 0000 0000 313233343536");
    seal(frame, udplite + 6, udplite, 14, pseudo(&flow6, UDPLITE, 14));
    expect(frame, "udplite good", "UDP-Lite coverage 0 covers everything");
    frame->bytes[udplite + 13] ^= 1;
    expect(frame, "udplite bad", "UDP-Lite coverage 0: the last byte matters");

    set16(frame, udplite + 4, 12);
    seal(frame, udplite + 6, udplite, 12, pseudo(&flow6, UDPLITE, 14));
    expect(frame, "udplite good", "UDP-Lite covers 12 bytes, its pseudo-header contains all 14");
    frame->bytes[udplite + 13] ^= 1;
    expect(frame, "udplite good", "UDP-Lite: bytes beyond the coverage do not matter");
    frame->bytes[udplite + 11] ^= 1;
    expect(frame, "udplite bad", "UDP-Lite: the last byte covered matters");
    set16(frame, udplite + 6, pseudo(&flow6, UDPLITE, 0).sum);
    expect(frame, "udplite partial",
           "UDP-Lite: a partial sum may lack the length of the pseudo-header");
    set16(frame, udplite + 6, pseudo(&flow6, UDPLITE, 2).sum);
    expect(frame, "udplite bad", "UDP-Lite: a partial sum may not lack the coverage");

    for (uint32_t coverage = 1; coverage < 8; coverage++) {
        set16(frame, udplite + 4, coverage);
        expect(frame, "udplite unverifiable/malformed", "UDP-Lite coverage %u", coverage);
    }
    set16(frame, udplite + 4, 15);
    expect(frame, "udplite unverifiable/malformed", "UDP-Lite coverage beyond the packet");
}

static void test_udplite_zero_is_illegal(void) {
    const struct carry_packet_options lenient = {.flags = CARRY_PACKET_UDP6_ZERO_ABSENT};
    for (int version6 = 0; version6 < 2; version6++) {
        struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
        if (version6)
            put_ipv6(frame, UDPLITE, 8 + 6);
        else
            put_ip(frame, UDPLITE, 8 + 6);
        put(frame, "3039 12b5 0008 0000 313233343536");
        expect(frame, version6 ? "udplite illegal" : "ip good, udplite illegal",
               "UDP-Lite without a checksum");
        const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
        struct carry_packet_sum sums[2];
        size_t count = carry_packet_check(&view, &lenient, sums, 2);
        tap_ok(TAP_TRUE(count) && TAP_EQ(sums[count - 1].verdict, CARRY_VERDICT_ILLEGAL),
               "UDP-Lite is illegal without a checksum, whatever its port");
    }
}

static void test_length_beyond_the_wire(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 30);
    put_tcp(frame, &flow4, 10);
    set16(frame, ip + 2, 51);
    seal_ip(frame, ip);
    expect(frame, "ip good, tcp unverifiable/length", "IPv4 length one byte beyond the wire");
    put(frame, "00");
    expect(frame, "ip good, tcp bad", "IPv4 length just on the wire");

    frame = start(ETHERNET6);
    put_ipv6(frame, TCP, 31);
    put_tcp(frame, &flow6, 10);
    expect(frame, "tcp unverifiable/length", "IPv6 length beyond the wire");
}

static void test_snaplen(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, TCP, 20 + 100);
    put_tcp(frame, &flow4, 100);
    frame->wire = frame->size;
    frame->size -= 1;
    expect(frame, "ip good, tcp unverifiable/snaplen", "one byte cut off by the snapshot length");
    frame->size = 14 + 20;
    expect(frame, "ip good, tcp unverifiable/snaplen", "the IPv4 header alone is still verified");
    frame->size = 14 + 19;
    expect(frame, "ip unverifiable/snaplen", "a cut IPv4 header");
}

static void test_jumbo_lengths(void) {
    enum { LARGE = 70000 };
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 0, 0);
    uint32_t jumbo = put(frame, "06 00 c204 00000000");
    uint32_t payload_size = 8 + 20 + LARGE;
    set16(frame, jumbo + 4, payload_size >> 16);
    set16(frame, jumbo + 6, payload_size);
    put_tcp(frame, &flow6, LARGE);
    put(frame, "ffff");
    expect(frame, "tcp good", "jumbogram: the length is in the hop-by-hop option");
    set16(frame, jumbo + 4, 0);
    expect(frame, "tcp unverifiable/malformed", "jumbogram that 16 bits could hold");

    frame = start(ETHERNET6);
    put_ipv6(frame, 0, 0);
    put(frame, "3c 00 0104 00000000");
    put(frame, "06 00 c204 00010001");
    put_tcp(frame, &flow6, LARGE);
    expect(frame, "tcp good", "only the first header after IPv6 can make a jumbogram");

    frame = start(ETHERNET6);
    put_ipv6(frame, 0, 8 + 20 + 3);
    put(frame, "06 00 c204 00010001");
    put_tcp(frame, &flow6, 3);
    put(frame, "ffff");
    expect(frame, "tcp good", "no jumbogram exists where the IPv6 header has a length");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 0);
    uint32_t udp = put_udp(frame, &flow6, LARGE);
    set16(frame, udp + 4, 0);
    seal(frame, udp + 6, udp, 8 + LARGE, pseudo(&flow6, UDP, 8 + LARGE));
    expect(frame, "udp good", "IPv6 and UDP length 0: the length is that of the frame");

    frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 0);
    set16(frame, ip + 2, 0);
    seal_ip(frame, ip);
    put_tcp(frame, &flow4, LARGE);
    expect(frame, "ip good, tcp good",
           "IPv4 length 0: the length is that of the frame, in 32 bits");

    frame = start(ETHERNET4);
    ip = put_ip(frame, UDP, 0);
    set16(frame, ip + 2, 0);
    seal_ip(frame, ip);
    udp = put_udp(frame, &flow4, LARGE);
    set16(frame, udp + 4, 0);
    seal(frame, udp + 6, udp, 8 + LARGE, pseudo(&flow4, UDP, 8 + LARGE));
    expect(frame, "ip good, udp good", "UDP length 0 in IPv4 that 16 bits cannot hold");
}

/*
 * Network cards do not segment these protocols: a length of 0 means that there is no content, not
 * that the content ends with the frame.
 */
static void test_length_0_without_offload(void) {
    static const struct {
        uint8_t protocol;
        uint32_t field;
        const char *name, *message;
    } others[] = {
        {ICMP, 2, "icmp", "08 00 0000 0001 0002 3132333435363738"},
        {IGMP, 2, "igmp", "16 00 0000 e0000116"},
        {88, 2, "eigrp", "02 05 0000 00000000 00000000 00000000 00000064"},
        {103, 2, "pim", "20 00 0000 0001 0002 0069"},
        {112, 6, "vrrp", "21 01 64 01 00 01 0000 0a000001 00000000 00000000"},
    };
    char expected[64];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int with_length = 0; with_length < 2; with_length++) {
            struct frame *frame = start(ETHERNET4);
            uint32_t ip = put_ip(frame, others[i].protocol, 0),
                     message = put(frame, others[i].message);
            uint32_t size = frame->size - message;
            seal(frame, message + others[i].field, message, size, oracle_start(0));
            set16(frame, ip + 2, with_length ? 20 + size : 0);
            seal_ip(frame, ip);
            snprintf(expected, sizeof expected, "ip good, %s %s", others[i].name,
                     with_length ? "good" : "unverifiable/malformed");
            expect(frame, expected, "%s, the length %s", others[i].name,
                   with_length ? "is there" : "is 0");
        }

    struct frame *frame = start(ETHERNET6);
    uint32_t ip = put_ipv6(frame, ICMPV6, 16);
    uint32_t icmp = put(frame, "80 00 0000 0001 0002 3132333435363738");
    seal(frame, icmp + 2, icmp, 16, pseudo(&flow6, ICMPV6, 16));
    expect(frame, "icmpv6 good", "ICMPv6 with its length");
    set16(frame, ip + 4, 0);
    expect(frame, "icmpv6 unverifiable/malformed", "ICMPv6 under a payload length of 0");
    frame->bytes[icmp + 9] ^= 1;
    expect(frame, "icmpv6 unverifiable/malformed",
           "damaged ICMPv6 under a payload length of 0 is malformed, not bad");

    enum { LARGE = 70000 };
    frame = start(ETHERNET6);
    put_ipv6(frame, 0, 0);
    uint32_t jumbo = put(frame, "3a 00 c204 00000000");
    set16(frame, jumbo + 4, (8 + 8 + LARGE) >> 16);
    set16(frame, jumbo + 6, 8 + 8 + LARGE);
    icmp = put(frame, "80 00 0000 0001 0002");
    put_many(frame, LARGE, 1, 5);
    seal(frame, icmp + 2, icmp, 8 + LARGE, pseudo(&flow6, ICMPV6, 8 + LARGE));
    expect(frame, "icmpv6 good", "ICMPv6 in a jumbogram");
}

/* --- Zero, and partial sums of offload --- */

static void test_udp_zero(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 12);
    uint32_t udp = put_udp(frame, &flow4, 4);
    set16(frame, udp + 6, 0);
    expect(frame, "ip good, udp absent", "UDP 0 over IPv4: the sender chose to send none");

    /* Data for which the computed sum is 0. */
    set16(frame, udp + 6, 0xffff);
    seal(frame, udp + 8, udp, 12, pseudo(&flow4, UDP, 12));
    expect(frame, "ip good, udp good", "UDP ffff where 0 is computed");
    set16(frame, udp + 6, 1);
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(result.sums[1].expected, 0xffff),
           "the expected value for UDP is never 0");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 12);
    udp = put_udp(frame, &flow6, 4);
    set16(frame, udp + 6, 0);
    expect(frame, "udp illegal", "UDP 0 over IPv6");
}

static void test_zero_and_ffff_are_equal(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, TCP, 22);
    uint32_t tcp = put_tcp(frame, &flow4, 2);
    set16(frame, tcp + 16, 0);
    seal(frame, tcp + 20, tcp, 22, pseudo(&flow4, TCP, 22));
    expect(frame, "ip good, tcp good", "TCP 0 where 0 is computed");
    set16(frame, tcp + 16, 0xffff);
    expect(frame, "ip good, tcp good", "TCP ffff where 0 is computed");
    set16(frame, tcp + 16, 0xfffe);
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].verdict, CARRY_VERDICT_BAD) && TAP_EQ(result.sums[1].expected, 0),
           "the expected value for TCP may be 0");

    /* Every receiver rejects this packet, because its bytes add up to 0, not to ffff. */
    frame = start(ETHERNET4);
    put_ip(frame, ICMP, 8);
    uint32_t icmp = put(frame, "00 00 0000 0000 0000");
    expect(frame, "ip good, icmp bad", "ICMP of zeros only");
    result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].expected, 0xffff), "the expected value for zeros is ffff");
    set16(frame, icmp + 2, 0xffff);
    expect(frame, "ip good, icmp good", "zeros with the checksum ffff");
}

/* A limit of every Internet checksum: a good one does not prove integrity. */
static void test_swapped_words_stay_good(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 30);
    uint32_t tcp = put_tcp(frame, &flow4, 10);
    uint32_t first = get16(frame, tcp + 20), second = get16(frame, tcp + 24);
    set16(frame, tcp + 20, second);
    set16(frame, tcp + 24, first);
    expect(frame, "ip good, tcp good", "two words of data are exchanged");
    first = get16(frame, ip + 12), second = get16(frame, ip + 16);
    set16(frame, ip + 12, second);
    set16(frame, ip + 16, first);
    expect(frame, "ip good, tcp good", "halves of the two addresses are exchanged");
    frame->bytes[tcp + 20] ^= 1;
    expect(frame, "ip good, tcp bad", "a changed bit makes the sum bad");
}

static void test_partial(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, TCP, 30);
    uint32_t tcp = put_tcp(frame, &flow4, 10);
    uint32_t good = get16(frame, tcp + 16);
    uint32_t left = pseudo(&flow4, TCP, 30).sum;
    set16(frame, tcp + 16, left);
    expect(frame, "ip good, tcp partial", "TCP with the sum of its pseudo-header is partial");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].expected, good) && TAP_EQ(result.sums[1].stored, left),
           "a partial sum has an expected value");
    set16(frame, tcp + 16, ~left & 0xffff);
    expect(frame, "ip good, tcp bad", "the inverted sum of the pseudo-header is not partial");
    set16(frame, tcp + 16, pseudo(&flow4, TCP, 0).sum);
    expect(frame, "ip good, tcp partial",
           "the sum without the length is partial: large sends of Windows omit it");
    set16(frame, tcp + 16, left);
    seal(frame, tcp + 20, tcp, 30, pseudo(&flow4, TCP, 30));
    expect(frame, "ip good, tcp good", "a right sum is good, even if it equals a partial one");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDP, 18);
    uint32_t udp = put_udp(frame, &flow6, 10);
    set16(frame, udp + 6, pseudo(&flow6, UDP, 18).sum);
    expect(frame, "udp partial", "UDP over IPv6 with the sum of its pseudo-header is partial");
}

static void test_partial_of_any_length(void) {
    static const uint16_t sizes[] = {0x0080, 0x0100, 0x5555, 0xaaaa, 0xffff};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct frame *frame = start(ETHERNET6);
        put_ipv6(frame, TCP, sizes[i]);
        uint32_t tcp = put_tcp(frame, &flow6, sizes[i] - 20u);
        set16(frame, tcp + 16, pseudo(&flow6, TCP, sizes[i]).sum);
        expect(frame, "tcp partial", "a partial sum of %u bytes", sizes[i]);
        set16(frame, tcp + 16, pseudo(&flow6, TCP, 0).sum);
        expect(frame, "tcp partial", "a partial sum without its length, which is %u", sizes[i]);
    }
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 0);
    set16(frame, ip + 2, 0);
    seal_ip(frame, ip);
    uint32_t tcp = put_tcp(frame, &flow4, 70000);
    set16(frame, tcp + 16, pseudo(&flow4, TCP, 0).sum);
    expect(frame, "ip good, tcp partial", "a partial sum without a length of more than 16 bits");
}

/*
 * A partial sum contains the length in the pseudo-header, which may differ from IP's length and
 * from the number of covered bytes.
 */
static void test_partial_from_the_same_lengths(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, UDP, 8 + 5 + 3);
    uint32_t udp = put_udp(frame, &flow4, 5);
    put(frame, "aabbcc");
    set16(frame, udp + 6, pseudo(&flow4, UDP, 13).sum);
    expect(frame, "ip good, udp partial", "a partial sum with UDP's own length");
    set16(frame, udp + 6, pseudo(&flow4, UDP, 16).sum);
    expect(frame, "ip good, udp bad", "a sum with IP's length is not partial");

    frame = start(ETHERNET6);
    put_ipv6(frame, UDPLITE, 8 + 6);
    uint32_t udplite = put(frame, "3039 1092 0008 0000 313233343536");
    uint32_t left = pseudo(&flow6, UDPLITE, 14).sum;
    set16(frame, udplite + 6, left);
    expect(frame, "udplite partial", "a partial sum with the length of all of UDP-Lite");
    set16(frame, udplite + 6, pseudo(&flow6, UDPLITE, 8).sum);
    expect(frame, "udplite bad", "a sum with the coverage is not partial");
    set16(frame, udplite + 6, pseudo(&flow6, UDPLITE, 0).sum);
    expect(frame, "udplite partial", "a partial sum without a length");
    set16(frame, udplite + 6, pseudo(&flow6, UDPLITE, 14 - 8).sum);
    expect(frame, "udplite bad", "a sum less the coverage is not partial");
}

/* --- Fragments --- */

static void test_fragments(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 24);
    uint32_t udp = put_udp(frame, &flow4, 16);
    set16(frame, udp + 4, 1000);
    set16(frame, ip + 6, 0x2000);
    seal_ip(frame, ip);
    expect(frame, "ip good, udp unverifiable/fragment", "first fragment over IPv4");
    set16(frame, udp + 6, 0);
    expect(frame, "ip good, udp absent", "first fragment of a datagram without a checksum");
    set16(frame, ip + 6, 0x2001);
    seal_ip(frame, ip);
    expect(frame, "ip good", "middle fragment over IPv4");
    set16(frame, ip + 6, 0x0001);
    seal_ip(frame, ip);
    expect(frame, "ip good", "last fragment over IPv4");
    set16(frame, ip + 6, 0x4000);
    seal_ip(frame, ip);
    set16(frame, udp + 4, 24);
    seal(frame, udp + 6, udp, 24, pseudo(&flow4, UDP, 24));
    expect(frame, "ip good, udp good", "don't fragment is no fragment");

    frame = start(ETHERNET6);
    put_ipv6(frame, 44, 8 + 24);
    uint32_t fragment = put(frame, "11 00 0001 12345678");
    put_udp(frame, &flow6, 16);
    expect(frame, "udp unverifiable/fragment", "first fragment over IPv6");
    set16(frame, fragment + 2, 0x0009);
    expect(frame, "", "middle fragment over IPv6");
    set16(frame, fragment + 2, 0x0008);
    expect(frame, "", "last fragment over IPv6");

    frame = start(ETHERNET6);
    put_ipv6(frame, 44, 8 + 24 + 20);
    put(frame, "2b 00 0001 12345678");
    put(frame, "06 02 00 01 00000000" LAST6);
    put_tcp(frame, &(struct flow){SRC6, LAST6}, 0);
    expect(frame, "tcp unverifiable/fragment",
           "a fragment with a routing header remains a fragment");

    for (uint32_t size = 8; size <= 16; size += 8) {
        frame = start(ETHERNET4);
        ip = put_ip(frame, 4, size);
        put_ip(frame, TCP, 20);
        frame->size = 14 + 20 + size;
        set16(frame, ip + 6, 0x2000);
        seal_ip(frame, ip);
        expect(frame, "ip good, ip unverifiable/fragment", "%u bytes of the header in a tunnel",
               size);
        set16(frame, ip + 6, 0);
        seal_ip(frame, ip);
        expect(frame, "ip good, ip unverifiable/malformed",
               "the same without a later fragment is malformed");
    }
}

static void test_atomic_fragments_are_whole(void) {
    for (uint32_t reserved = 0; reserved < 8; reserved += 2) {
        struct frame *frame = start(ETHERNET6);
        put_ipv6(frame, 44, 8 + 24);
        set16(frame, put(frame, "11 00 0000 12345678") + 2, reserved);
        put_udp(frame, &flow6, 16);
        expect(frame, "udp good", "an atomic fragment is a complete datagram");
        frame->bytes[frame->size - 1] ^= 1;
        expect(frame, "udp bad", "damage in an atomic fragment is found");
    }
}

/* --- Addresses of the pseudo-header --- */

static void expect_routed(const char *header, const char *dst, const char *expected,
                          const char *name) {
    struct frame *frame = start(ETHERNET6);
    uint32_t ip = put_ipv6(frame, 43, 0);
    uint32_t routing = put(frame, header);
    uint32_t size = frame->size - routing;
    frame->bytes[routing] = TCP;
    frame->bytes[routing + 1] = (uint8_t)(size / 8 - 1);
    set16(frame, ip + 4, size + 25);
    put_tcp(frame, &(struct flow){SRC6, dst}, 5);
    expect(frame, expected, "%s", name);
}

static void test_routing_headers(void) {
    expect_routed("0000 00 02 00000000" HOP6 LAST6, LAST6, "tcp good",
                  "routing type 0: the last address is final");
    expect_routed("0000 00 00 00000000" HOP6 LAST6, DST6, "tcp good",
                  "routing type 0, no segments left: the header's own destination");
    expect_routed("0000 00 03 00000000" HOP6 LAST6, LAST6, "tcp unverifiable/malformed",
                  "routing type 0 with more segments left than it holds");
    expect_routed("0000 00 01 00000000", DST6, "tcp unverifiable/malformed",
                  "routing type 0 without an address");
    expect_routed("0000 00 01 00000000" LAST6 "0000000000000000", LAST6,
                  "tcp unverifiable/malformed", "routing type 0 with half an address");
    expect_routed("0000 02 01 00000000" LAST6, LAST6, "tcp good",
                  "routing type 2: the home address is final");
    expect_routed("0000 04 01 01000000" LAST6 HOP6, LAST6, "tcp good",
                  "segment routing: the first address is final");
    expect_routed("0000 04 01 02000000" LAST6 HOP6, LAST6, "tcp unverifiable/malformed",
                  "segment routing with more segments than bytes");
    expect_routed("0000 04 01 00000000", DST6, "tcp unverifiable/malformed",
                  "segment routing without a segment");
    expect_routed("0000 04 03 01000000" LAST6 HOP6, LAST6, "tcp unverifiable/malformed",
                  "segment routing with more segments left than it can hold");
    expect_routed("0000 04 01 00000000" LAST6, LAST6, "tcp good",
                  "segment routing, reduced: only the IPv6 header contains the first hop");
    expect_routed("0000 04 00 01000000" LAST6 HOP6, DST6, "tcp good",
                  "segment routing, no segments left");
    expect_routed("0000 03 02 ee400000 0033 0444 00000000", LAST6, "tcp good",
                  "RPL: the last address, with the prefix of the destination");
    expect_routed("0000 03 01 ef700000 44 00000000000000", "20010db8000000000000000000000044",
                  "tcp good", "RPL: addresses of one byte");
    expect_routed("0000 03 01 00f00000 0000000000000000", LAST6, "tcp unverifiable/malformed",
                  "RPL with more padding than bytes");
    expect_routed("0000 03 03 ee400000 0033 0444 00000000", LAST6, "tcp unverifiable/malformed",
                  "RPL with more segments left than it holds");
    expect_routed("0000 09 01 00000000", DST6, "tcp unverifiable/routing",
                  "an unknown routing type hides the final destination");
    expect_routed("0000 09 00 00000000", DST6, "tcp good",
                  "an unknown routing type with no segments left hides nothing");

    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 43, 8 + 24 + 20);
    uint32_t unknown = put(frame, "2b 00 09 01 00000000");
    put(frame, "06 02 00 01 00000000" LAST6);
    put_tcp(frame, &(struct flow){SRC6, LAST6}, 0);
    expect(frame, "tcp unverifiable/routing",
           "a known routing type does not resolve an unknown one");
    frame->bytes[unknown + 2] = 0;
    expect(frame, "tcp unverifiable/malformed",
           "a sound routing header does not resolve a malformed one");
}

static void test_home_address(void) {
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 60, 24 + 23);
    put(frame, "06 02 1e02 1e1e c910" LAST6);
    put_tcp(frame, &(struct flow){LAST6, DST6}, 3);
    expect(frame, "tcp good", "the home address is the source");

    frame = start(ETHERNET6);
    put_ipv6(frame, 60, 8 + 23);
    put(frame, "06 00 0102 0000 c910");
    put_tcp(frame, &flow6, 3);
    expect(frame, "tcp unverifiable/malformed", "a home address that extends beyond its header");
}

/* No receiver accepts such a packet (RFC 8200, section 4.2), so no sum in it is bad. */
static void test_malformed_options(void) {
    static const struct {
        const char *header, *name;
    } malformed[] = {
        {"11 00 0102 0000 0502", "an option that is cut after its head"},
        {"11 00 0103 000000 05", "an option without a length"},
        {"11 00 1e05 00000000", "an option one byte longer than its header"},
        {"11 00 1eff 00000000", "the longest option in the shortest header"},
        {"11 00 c901 00 010100", "a home address of one byte"},
        {"11 01 c90c 000000000000 000000000000", "a home address that is too short"},
        {"11 02 c911 00000000000000000000000000000000 00 0101 00",
         "a home address that is too long"},
        {"11 00 c203 000000 00", "a jumbo length of three bytes"},
        {"11 00 c900 01020000", "an empty home address"},
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        for (uint8_t number = 0; number <= 60; number += 60) { /* hop-by-hop, destination */
            struct frame *frame = start(ETHERNET6);
            uint32_t ip = put_ipv6(frame, number, 0);
            put(frame, malformed[i].header);
            uint32_t udp = put_udp(frame, &flow6, 5);
            set16(frame, ip + 4, frame->size - ip - 40);
            expect(frame, "udp unverifiable/malformed", "%s", malformed[i].name);
            set16(frame, udp + 6, 0x1234);
            const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET,
                                             0};
            tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 0) &&
                       TAP_EQ(get16(frame, udp + 6), 0x1234),
                   "a malformed packet is not repaired");
        }

    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 60, 8 + 13);
    put(frame, "11 00 1e02 0000 00 00");
    put_udp(frame, &flow6, 5);
    expect(frame, "udp good", "options that end with the header, and padding of one byte");
    frame = start(ETHERNET6);
    put_ipv6(frame, 60, 8 + 13);
    put(frame, "11 00 1e04 00000000");
    put_udp(frame, &flow6, 5);
    expect(frame, "udp good", "an option that ends with the header");
}

static void test_source_routes(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip_options(frame, TCP, 23, "01 83 0b 04 0a000001" LAST4);
    put_tcp(frame, &(struct flow){SRC4, LAST4}, 3);
    expect(frame, "ip good, tcp good", "loose source route: the last address is final");

    frame = start(ETHERNET4);
    put_ip_options(frame, TCP, 23, "89 0b 08 0a000001" LAST4 "00");
    put_tcp(frame, &(struct flow){SRC4, LAST4}, 3);
    expect(frame, "ip good, tcp good", "strict source route, on the way");

    frame = start(ETHERNET4);
    put_ip_options(frame, TCP, 23, "89 0b 0c 0a000001" LAST4 "00");
    put_tcp(frame, &flow4, 3);
    expect(frame, "ip good, tcp good", "a source route used up: the header's own destination");

    static const char *const broken[] = {"83020000",          "83000000",          "01010183",
                                         "8307ff00 cb007109", "83080400 cb007109", "83ff0400",
                                         "44ff0000"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        frame = start(ETHERNET4);
        put_ip_options(frame, TCP, 23, broken[i]);
        put_tcp(frame, &flow4, 3);
        expect(frame, "ip good, tcp good", "meaningless options are ignored: %s", broken[i]);
    }
}

/* --- Headers before the transport layer --- */

static void test_extension_headers(void) {
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 0, 8 + 8 + 24 + 21);
    put(frame, "3c 00 0502 0000 0100");
    put(frame, "2b 00 0104 00000000");
    put(frame, "06 02 00 00 00000000" LAST6);
    put_tcp(frame, &flow6, 1);
    expect(frame, "tcp good", "hop-by-hop, destination options and routing, then TCP");

    static const uint8_t of_ipv6[] = {0, 43, 44, 60, ICMPV6};
    for (size_t i = 0; i < sizeof of_ipv6; i++) {
        frame = start(ETHERNET4);
        put_ip(frame, of_ipv6[i], 8 + 20);
        put(frame, "06 00 0000 00000000");
        put_tcp(frame, &flow4, 0);
        expect(frame, "ip good", "protocol %u has no meaning over IPv4", of_ipv6[i]);
    }
}

static void test_ah_and_esp(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, AH, 24 + 23);
    put(frame, "06 04 0000 00000100 00000001 a1a2a3a4a5a6a7a8a9aaabac");
    put_tcp(frame, &flow4, 3);
    expect(frame, "ip good, tcp good", "the walk continues after AH over IPv4");
    frame->bytes[ip + 9] = ESP;
    seal_ip(frame, ip);
    expect(frame, "ip good", "ESP ends the walk");
    frame->bytes[ip + 9] = 253;
    seal_ip(frame, ip);
    expect(frame, "ip good", "an unknown protocol ends the walk");

    frame = start(ETHERNET6);
    put_ipv6(frame, AH, 16 + 23);
    put(frame, "06 02 0000 00000100 00000001 a1a2a3a4");
    put_tcp(frame, &flow6, 3);
    expect(frame, "tcp good", "the walk continues after AH over IPv6");

    frame = start(ETHERNET4);
    put_ip(frame, AH, 8);
    put(frame, "06 00 0000 00000100");
    expect(frame, "ip good, tcp unverifiable/malformed", "AH of 8 bytes with nothing after it");
}

static void test_malformed_ip(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, TCP, 20);
    put_tcp(frame, &flow4, 0);
    frame->bytes[ip] = 0x44;
    expect(frame, "ip unverifiable/malformed", "IPv4 header of 16 bytes");
    frame->bytes[ip] = 0x55;
    expect(frame, "ip unverifiable/malformed", "IP version 5");
    frame->bytes[ip] = 0x46;
    set16(frame, ip + 2, 20);
    expect(frame, "ip unverifiable/malformed", "IPv4 packet shorter than its header");
    frame->bytes[ip] = 0x45;
    set16(frame, ip + 2, 37);
    seal_ip(frame, ip);
    expect(frame, "ip good, tcp unverifiable/malformed", "no room for the TCP checksum");
    set16(frame, ip + 2, 40);
    expect(frame, "ip bad, tcp good", "a bad header does not end the walk");

    frame = start(ETHERNET6);
    ip = put_ipv6(frame, TCP, 20);
    put_tcp(frame, &flow6, 0);
    frame->bytes[ip] = 0x40;
    expect(frame, "", "IPv6 of another version ends the walk");
}

/* --- ICMP and IGMP --- */

static void test_icmp_errors(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 8 + 20 + 28);
    uint32_t icmp = put(frame, "03 03 0000 00000000");
    put_ip(frame, UDP, 28);
    uint32_t udp = put_udp(frame, &flow4, 20);
    seal(frame, icmp + 2, icmp, 56, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, udp good",
           "ICMP error: a complete packet is quoted");
    frame->bytes[udp + 8] ^= 1;
    seal(frame, icmp + 2, icmp, 56, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, udp unverifiable/quoted",
           "a quoted sum that does not verify is unverifiable: routers edit quoted packets");
    set16(frame, udp + 6, pseudo(&flow4, UDP, 28).sum);
    seal(frame, icmp + 2, icmp, 56, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, udp partial",
           "a quoted sum that its host left to the network card is partial");

    frame = start(ETHERNET4);
    put_ip(frame, ICMP, 8 + 20 + 8);
    icmp = put(frame, "0b 00 0000 00000000");
    put_ip(frame, TCP, 1000);
    put(frame, "0050 c001 01020304");
    seal(frame, icmp + 2, icmp, 36, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, tcp unverifiable/quoted",
           "ICMP error: the beginning of a packet is quoted");

    /* RFC 4884: 8 of the 16 quoted bytes, then an extension that is not part of them. */
    frame = start(ETHERNET6);
    put_ipv6(frame, ICMPV6, 8 + 48 + 8);
    icmp = put(frame, "01 04 0000 06 000000");
    put_ipv6(frame, UDP, 16);
    put_udp(frame, &flow6, 8);
    frame->size -= 8;
    put(frame, "2000 0000 00000000");
    seal(frame, icmp + 2, icmp, 64, pseudo(&flow6, ICMPV6, 64));
    expect(frame, "icmpv6 good, udp unverifiable/quoted", "ICMPv6 error with an extension");

    frame = start(ETHERNET6);
    put_ipv6(frame, ICMPV6, 8 + 48);
    icmp = put(frame, "01 04 0000 00000000");
    put_ipv6(frame, UDP, 8);
    put(frame, "0035 0035 0008 0000");
    seal(frame, icmp + 2, icmp, 56, pseudo(&flow6, ICMPV6, 56));
    expect(frame, "icmpv6 good, udp unverifiable/quoted",
           "a quoted UDP 0 over IPv6 is not illegal");

    frame = start(ETHERNET6);
    put_ipv6(frame, ICMPV6, 8 + 48);
    icmp = put(frame, "01 04 0000 00000000");
    put_ipv6(frame, UDP, 8);
    udp = put(frame, "0000 0035 0008 0000");
    seal(frame, udp, udp, 8, pseudo(&flow6, UDP, 8));
    seal(frame, icmp + 2, icmp, 56, pseudo(&flow6, ICMPV6, 56));
    expect(frame, "icmpv6 good, udp unverifiable/quoted",
           "a quoted UDP 0 is not a sum, though with this port everything adds up to one");
}

/* --- Extensions of ICMP --- */

#define OBJECT "0008 01 01 00064140"

/* Returns the offset of the ICMP message in the frame. */
static uint32_t icmp_at(bool version6) {
    return version6 ? 14 + 40 : 14 + 20;
}

static void seal_icmp(struct frame *frame) {
    bool version6 = frame->bytes[14] >> 4 == 6;
    uint32_t icmp = icmp_at(version6), size = frame->size - icmp;
    set16(frame, version6 ? 14 + 4 : 14 + 2, version6 ? size : 20 + size);
    if (!version6)
        seal_ip(frame, 14);
    seal(frame, icmp + 2, icmp, size, version6 ? pseudo(&flow6, ICMPV6, size) : oracle_start(0));
}

static void seal_extension(struct frame *frame, uint32_t extension) {
    seal(frame, extension + 2, extension, frame->size - extension, oracle_start(0));
    seal_icmp(frame);
}

/*
 * Writes an error that quotes `quote_size` bytes of UDP with `data_size` bytes of data, padded with
 * zeros, and states `length` units of 4 or 8 bytes; then an extension. Returns the extension's
 * offset.
 */
static uint32_t put_extended(struct frame *frame, bool version6, uint32_t length,
                             uint32_t quote_size, uint32_t data_size, const char *extension) {
    frame->size = 0;
    put(frame, version6 ? ETHERNET6 : ETHERNET4);
    if (version6)
        put_ipv6(frame, ICMPV6, 0);
    else
        put_ip(frame, ICMP, 0);
    uint32_t icmp = put(frame, version6 ? "03 00 0000 00000000" : "0b 00 0000 00000000");
    frame->bytes[icmp + (version6 ? 4 : 5)] = (uint8_t)length;
    uint32_t quote = frame->size;
    if (version6)
        put_ipv6(frame, UDP, 8 + data_size);
    else
        put_ip(frame, UDP, 8 + data_size);
    put_udp(frame, version6 ? &flow6 : &flow4, data_size);
    while (frame->size < quote + quote_size)
        put(frame, "00");
    frame->size = quote + quote_size;
    uint32_t offset = put(frame, extension);
    seal_extension(frame, offset);
    return offset;
}

static void test_icmp_extension(void) {
    static const char *const whole[] = {
        "ip good, icmp good, ip good, udp good, icmpext good",
        "icmpv6 good, udp good, icmpext good",
    };
    static const char *const cut[] = {
        "ip good, icmp good, ip good, udp unverifiable/quoted, icmpext good",
        "icmpv6 good, udp unverifiable/quoted, icmpext good",
    };
    static const char *const bad[] = {
        "ip good, icmp good, ip good, udp good, icmpext bad",
        "icmpv6 good, udp good, icmpext bad",
    };
    static const char *const absent[] = {
        "ip good, icmp good, ip good, udp good, icmpext absent",
        "icmpv6 good, udp good, icmpext absent",
    };
    static const char *const none[] = {
        "ip good, icmp good, ip good, udp good",
        "icmpv6 good, udp good",
    };
    struct frame *frame = start("");
    for (int version6 = 0; version6 < 2; version6++) {
        uint32_t units = version6 ? 16 : 32;
        uint32_t at = put_extended(frame, version6, units, 128, 20, "2000 0000" OBJECT OBJECT);
        expect(frame, whole[version6], "an extension of ICMP");
        struct result result = check(frame);
        const struct carry_packet_sum *sum = &result.sums[result.count - 1];
        tap_ok(TAP_EQ(sum->field_offset, at + 2) && TAP_EQ(sum->cover_offset, at) &&
                   TAP_EQ(sum->cover_size, 20) && TAP_TRUE(!sum->pseudo) &&
                   TAP_TRUE(!sum->quoted) && TAP_EQ(sum->network_offset, 14) &&
                   TAP_EQ(sum->version, version6 ? 6 : 4),
               "an extension covers itself, and is not quoted");
        put(frame, "ffff");
        expect(frame, whole[version6], "padding of the frame is not part of the extension");
        frame->size -= 2;
        frame->bytes[frame->size - 1] ^= 1;
        seal_icmp(frame);
        expect(frame, bad[version6], "the last byte of the extension matters");
        frame->bytes[frame->size - 1] ^= 1;
        set16(frame, at, 0x2001);
        seal_extension(frame, at);
        expect(frame, whole[version6], "the extension's reserved bits are covered");
        set16(frame, at + 2, 0);
        seal_icmp(frame);
        expect(frame, absent[version6], "an extension without a checksum");
        set16(frame, at, 0x1000);
        seal_extension(frame, at);
        expect(frame, none[version6], "an extension of version 1 is unknown");

        put_extended(frame, version6, units, 128, 500, "2000 0000" OBJECT);
        expect(frame, cut[version6], "an extension after a packet that is cut");
        put_extended(frame, version6, units, 128, version6 ? 92 : 112, "2000 0000" OBJECT);
        uint32_t udp = icmp_at(version6) + 8 + (version6 ? 40 : 20), size = frame->size - udp;
        seal(frame, udp + 6, udp, size, pseudo(version6 ? &flow6 : &flow4, UDP, size));
        seal_icmp(frame);
        expect(frame, cut[version6], "the quoted packet ends where the extension begins");
        put_extended(frame, version6, units + 1, version6 ? 136 : 132, 500, "2000 0000" OBJECT);
        expect(frame, cut[version6], "an extension after more than 128 bytes");
        put_extended(frame, version6, units - 1, version6 ? 120 : 124, 20, "2000 0000" OBJECT);
        expect(frame, none[version6], "there is no extension after fewer bytes");
        put_extended(frame, version6, 255, 128, 20, "2000 0000" OBJECT);
        expect(frame, none[version6], "there is no extension beyond the message");
    }
}

static void test_icmp_extension_that_is_not_announced(void) {
    static const char *const others[] = {
        "2000 0000",
        "2001 0000" OBJECT,
        "3000 0000" OBJECT,
        "2000 0000" OBJECT "00",
        "2000 0000 000301 00040101",
        "2000 0000 0003 0101",
        "2000 0000 0000 0101",
        "2000 0000 0009 0101 00064140",
        "2000 0000" OBJECT "0000 0000",
    };
    struct frame *frame = start("");
    for (int version6 = 0; version6 < 2; version6++) {
        put_extended(frame, version6, 0, 128, 20, "2000 0000" OBJECT OBJECT);
        expect(frame,
               version6 ? "icmpv6 good, udp good, icmpext good"
                        : "ip good, icmp good, ip good, udp good, icmpext good",
               "an extension that is not announced");
        put_extended(frame, version6, 0, 128, 20, "2000 0000" OBJECT "0004 01 01");
        struct result result = check(frame);
        tap_ok(TAP_EQ(result.count, version6 ? 3 : 5), "an extension's last object may be empty");
        put_extended(frame, version6, 0, 128, 500, "2000 0000" OBJECT);
        expect(frame,
               version6 ? "icmpv6 good, udp unverifiable/quoted, icmpext good"
                        : "ip good, icmp good, ip good, udp unverifiable/quoted, "
                          "icmpext good",
               "an extension that is not announced, after a packet that is cut");
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            put_extended(frame, version6, 0, 128, 20, others[i]);
            result = check(frame);
            tap_ok(TAP_EQ(result.count, version6 ? 2 : 4), "no extension: %s", others[i]);
        }
        put_extended(frame, version6, 0, 132, 20, "2000 0000" OBJECT);
        result = check(frame);
        tap_ok(TAP_EQ(result.count, version6 ? 2 : 4),
               "no extension is looked for after 132 bytes");
    }
}

/* The captured part of a cut extension could also be a part of the quoted packet. */
static void test_icmp_extension_that_is_cut_is_no_packet(void) {
    struct frame *frame = start("");
    put_extended(frame, false, 0, 128, 500, "2000 0000 0011 0000 c0000201 c0000202 0035 0035 00");
    uint32_t ip = icmp_at(false) + 8;
    frame->bytes[ip + 9] = 51;
    frame->bytes[ip + 20] = 4; /* AH, followed by IP, 4 bytes before the extension */
    frame->bytes[ip + 21] = 104 / 4 - 2;
    set16(frame, ip + 124, 0x4500);
    set16(frame, ip + 126, 100);
    set16(frame, ip + 130, 0);
    seal_ip(frame, ip);
    seal_icmp(frame);
    expect(frame, "ip good, icmp good, ip good, ip unverifiable/quoted, icmpext absent",
           "no IP header extends into an extension, and no UDP follows it");

    put_extended(frame, false, 0, 128, 20, "2000 0000" OBJECT);
    set16(frame, ip + 2, 0);
    seal_ip(frame, ip);
    set16(frame, ip + 20 + 4, 110);
    set16(frame, ip + 20 + 6, 0);
    seal_icmp(frame);
    expect(frame, "ip good, icmp good, ip good, udp absent, icmpext good",
           "a quoted packet without a stated length may have been longer");
}

/* Other ICMP errors have gateways and MTUs in place of the size of the quoted part. */
static void test_icmp_errors_that_have_no_extension(void) {
    struct frame *frame = start("");
    for (int version6 = 0; version6 < 2; version6++)
        for (uint32_t type = version6 ? 1 : 3; type <= (version6 ? 4 : 12); type++) {
            put_extended(frame, version6, version6 ? 16 : 32, 128, 20, "2000 0000" OBJECT);
            frame->bytes[icmp_at(version6)] = (uint8_t)type;
            seal_icmp(frame);
            struct result result = check(frame);
            bool may = version6 ? type == 1 || type == 3 : type == 3 || type == 11 || type == 12;
            bool has = result.sums[result.count - 1].protocol == CARRY_PROTOCOL_ICMPEXT;
            tap_ok(TAP_EQ(has, may), "ICMP%s type %u has %s extension", version6 ? "v6" : "", type,
                   may ? "an" : "no");
        }
}

static void test_icmp_extension_is_repaired(void) {
    struct frame *frame = start("");
    uint32_t at = put_extended(frame, false, 32, 128, 500, "2000 0000" OBJECT);
    uint32_t icmp_sum = get16(frame, 14 + 20 + 2), good = get16(frame, at + 2);
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    set16(frame, at + 2, 0x1234);
    seal_icmp(frame);
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 2) &&
               TAP_EQ(get16(frame, at + 2), good) && TAP_EQ(get16(frame, 14 + 20 + 2), icmp_sum),
           "a bad extension is repaired, and then the sum of ICMP");
    set16(frame, at + 2, 0);
    seal_icmp(frame);
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 0),
           "an extension without a checksum remains so");
    tap_ok(TAP_EQ(carry_packet_fill(&view, NULL, NULL, 0), 2) && TAP_EQ(get16(frame, at + 2), good),
           "an extension without a checksum is filled in");
}

static void test_icmp_extension_in_fragments_and_quotes(void) {
    struct frame *frame = start("");
    put_extended(frame, false, 32, 128, 20, "2000 0000" OBJECT);
    set16(frame, 14 + 6, 0x2000);
    seal_ip(frame, 14);
    expect(frame,
           "ip good, icmp unverifiable/fragment, ip good, udp good, "
           "icmpext unverifiable/fragment",
           "an extension in a first fragment may continue");
    set16(frame, 14 + 6, 0);
    seal_ip(frame, 14);
    set16(frame, 14 + 2, get16(frame, 14 + 2) + 4);
    seal_ip(frame, 14);
    expect(frame,
           "ip good, icmp unverifiable/length, ip good, udp good, "
           "icmpext unverifiable/length",
           "an extension that extends beyond the wire length");
    put_extended(frame, false, 32, 128, 20, "2000 0000" OBJECT);
    frame->wire = frame->size--;
    expect(frame,
           "ip good, icmp unverifiable/snaplen, ip good, udp good, "
           "icmpext unverifiable/snaplen",
           "an extension with its last byte cut off");
    frame->wire = 0;

    uint32_t at = put_extended(frame, false, 32, 128, 20, "2000 0000" OBJECT);
    uint8_t error[FRAME_MAX / 100];
    uint32_t size = frame->size - 14;
    set16(frame, at + 2, 0x1234);
    seal_icmp(frame);
    memcpy(error, frame->bytes + 14, size);
    frame = start(ETHERNET4);
    put_ip(frame, ICMP, 0);
    put(frame, "03 01 0000 00000000");
    for (uint32_t i = 0; i < size; i++)
        put_many(frame, 1, error[i], 0);
    seal_icmp(frame);
    expect(frame,
           "ip good, icmp good, ip good, icmp good, ip good, udp good, "
           "icmpext unverifiable/quoted",
           "an extension in an error that an error quotes");
}

static bool is_deeper(const struct frame *frame) {
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    struct carry_packet_fragment fragment;
    carry_packet_check_fragment(&view, NULL, NULL, 0, &fragment);
    return fragment.deeper;
}

/* Tests more levels than the walk can return from: of six extensions, the innermost are not
   examined. */
static void test_icmp_extensions_within_each_other(void) {
    uint8_t quote[FRAME_MAX / 100];
    struct frame *frame = start("");
    put_extended(frame, false, 32, 128, 20, "2000 0000" OBJECT);
    for (int depth = 1; depth < 6; depth++) {
        uint32_t size = frame->size - 14;
        memcpy(quote, frame->bytes + 14, size);
        start(ETHERNET4);
        put_ip(frame, ICMP, 0);
        uint32_t icmp = put(frame, "03 01 0000 00000000");
        frame->bytes[icmp + 5] = (uint8_t)(size / 4);
        for (uint32_t i = 0; i < size; i++)
            put_many(frame, 1, quote[i], 0);
        seal_extension(frame, put(frame, "2000 0000" OBJECT));
    }
#define TWICE(text) text text
    expect(frame,
           TWICE("ip good, icmp good, " TWICE(
               "ip good, icmp good, ")) "ip good, udp good, "
                                        "icmpext good, icmpext good, icmpext good, icmpext good",
           "errors that quote errors, all with extensions");
    tap_ok(is_deeper(frame), "the frame is reported as too deep");
}

static void test_icmp_extended_echo(void) {
    for (int version6 = 0; version6 < 2; version6++) {
        struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
        if (version6)
            put_ipv6(frame, ICMPV6, 0);
        else
            put_ip(frame, ICMP, 0);
        put(frame, version6 ? "a0 00 0000 0001 01 01" : "2a 00 0000 0001 01 01");
        uint32_t at = put(frame, "2000 0000 0008 03 01 65746830");
        seal_extension(frame, at);
        expect(frame, version6 ? "icmpv6 good, icmpext good" : "ip good, icmp good, icmpext good",
               "an extended echo request");
        set16(frame, at + 2, 0x1234);
        seal_icmp(frame);
        expect(frame, version6 ? "icmpv6 good, icmpext bad" : "ip good, icmp good, icmpext bad",
               "an extended echo request with a bad extension");
    }
}

/* Ping appends its time stamp to the request. The extension's checksum ends with its object. */
static void test_icmp_extended_echo_with_data(void) {
    static const struct {
        const char *object;
        const char *data;
        const char *verdict;
    } requests[] = {
        {"2000 dcca 0008 03 02 0000002b", "65839297 00022de3", "good"},
        {"2000 9424 000a 03 01 656e70317330", "65933a48 00063268", "good"},
        {"2000 f8e5 000c 03 03 00010400 951c4aed", "0000", "good"},
        {"2000 dcca 0008 03 02 0000002b", "00", "good"},
        {"2000 dcca 0008 03 02 0000002a", "00000000", "bad"},
        {"2000 e6ca 0008 03 02 0000002b", "65839297 00022de3", "bad"},
        {"2000 dccf 0003 03 02 0000002b", "00000000", "good"},
        {"2000 dccd 0005 03 02 0000002b", "00000000", "bad"},
        {"2000 dcca 0009 03 02 0000002a", "", "good"},
        {"2000 defc 0008 01 02 0000002b", "00000000 00ff", "bad"},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct frame *frame = start(ETHERNET4);
        put_ip(frame, ICMP, 0);
        put(frame, "2a00 0000 0001 0101");
        put(frame, requests[i].object);
        put(frame, requests[i].data);
        seal_icmp(frame);
        char expected[64];
        snprintf(expected, sizeof expected, "ip good, icmp good, icmpext %s", requests[i].verdict);
        expect(frame, expected, "an extended echo request: %s, then %s", requests[i].object,
               requests[i].data);
    }
}

static void test_icmp_types(void) {
    for (unsigned type = 0; type < 16; type++) {
        struct frame *frame = start(ETHERNET4);
        put_ip(frame, ICMP, 8 + 40);
        uint32_t icmp = put(frame, "0000 0000 00000000");
        frame->bytes[icmp] = (uint8_t)type;
        put_ip(frame, TCP, 20);
        put_tcp(frame, &flow4, 0);
        seal(frame, icmp + 2, icmp, 48, oracle_start(0));
        bool error = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
        expect(frame, error ? "ip good, icmp good, ip good, tcp good" : "ip good, icmp good",
               "ICMP type %u quotes %s", type, error ? "a packet" : "nothing");

        frame = start(ETHERNET6);
        put_ipv6(frame, ICMPV6, 8 + 60);
        icmp = put(frame, "0000 0000 00000000");
        frame->bytes[icmp] = (uint8_t)type;
        put_ipv6(frame, TCP, 20);
        put_tcp(frame, &flow6, 0);
        seal(frame, icmp + 2, icmp, 68, pseudo(&flow6, ICMPV6, 68));
        error = type >= 1 && type <= 4;
        expect(frame, error ? "icmpv6 good, tcp good" : "icmpv6 good", "ICMPv6 type %u quotes %s",
               type, error ? "a packet" : "nothing");
    }
}

/* Returns a redirect of an IPv6 router, with an option before the one that quotes a packet. */
static struct frame *start_redirect(const char *option, uint32_t quoted_size) {
    struct frame *frame = start(ETHERNET6);
    uint32_t ip = put_ipv6(frame, ICMPV6, 0);
    uint32_t icmp = put(frame, "89 00 0000 00000000" SRC6 DST6 "02 01 020000000001");
    put(frame, option);
    uint32_t quote = put_ipv6(frame, TCP, 20 + 12);
    put_tcp(frame, &flow6, 12);
    frame->size = quote + quoted_size;
    uint32_t size = frame->size - icmp;
    set16(frame, ip + 4, size);
    seal(frame, icmp + 2, icmp, size, pseudo(&flow6, ICMPV6, size));
    return frame;
}

static void test_icmpv6_redirects(void) {
    struct frame *frame = start_redirect("04 0a 000000000000", 72);
    expect(frame, "icmpv6 good, tcp good", "the packet that a redirect quotes");
    frame->bytes[frame->size - 1] ^= 1;
    expect(frame, "icmpv6 bad, tcp unverifiable/quoted",
           "a damaged packet in a redirect is not bad");
    expect(start_redirect("04 08 000000000000", 56), "icmpv6 good, tcp unverifiable/quoted",
           "the beginning of a packet in a redirect");
    expect(start_redirect("04 09 000000000000", 72), "icmpv6 good, tcp unverifiable/quoted",
           "a packet ends where its option ends");
    expect(start_redirect("05 0a 000000000000", 72), "icmpv6 good", "another option");
    expect(start_redirect("05 00 000000000000", 72), "icmpv6 good", "an option of 0 bytes");
    expect(start_redirect("05 ff 000000000000", 72), "icmpv6 good",
           "an option that extends beyond the frame");
}

static void test_icmp_and_igmp(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 13);
    uint32_t icmp = put(frame, "08 00 0000 0102 0001 6162636465");
    seal(frame, icmp + 2, icmp, 13, oracle_start(0));
    expect(frame, "ip good, icmp good", "ICMP echo of odd size");

    frame = start(ETHERNET6);
    put_ipv6(frame, ICMPV6, 13);
    icmp = put(frame, "80 00 0000 0102 0001 6162636465");
    seal(frame, icmp + 2, icmp, 13, pseudo(&flow6, ICMPV6, 13));
    expect(frame, "icmpv6 good", "ICMPv6 covers a pseudo-header");

    frame = start(ETHERNET4);
    put_ip_options(frame, IGMP, 16, "94040000");
    uint32_t igmp = put(frame, "22 00 0000 0000 0001 04000000 e00000fb");
    seal(frame, igmp + 2, igmp, 16, oracle_start(0));
    expect(frame, "ip good, igmp good", "IGMP after a router alert");
    frame->bytes[igmp + 15] ^= 1;
    expect(frame, "ip good, igmp bad", "IGMPv3 is covered to its end");
}

/* --- Around IP --- */

static void test_ip_in_ip(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, 4, 20 + 23);
    put_inner(frame, false);
    expect(frame, "ip good, ip good, tcp good", "IPv4 in IPv4");

    frame = start(ETHERNET4);
    put_ip(frame, 41, 40 + 23);
    put_inner(frame, true);
    expect(frame, "ip good, tcp good", "IPv6 in IPv4");

    frame = start(ETHERNET6);
    put_ipv6(frame, 4, 20 + 23);
    put_inner(frame, false);
    expect(frame, "ip good, tcp good", "IPv4 in IPv6");

    frame = start(ETHERNET6);
    put_ipv6(frame, 41, 40 + 23);
    put_inner(frame, true);
    expect(frame, "tcp good", "IPv6 in IPv6");

    frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, 4, 20 + 22);
    put_inner(frame, false);
    expect(frame, "ip good, ip good, tcp unverifiable/length",
           "IPv4 in IPv4, longer than the outer packet");
    set16(frame, ip + 6, 0x2000);
    seal_ip(frame, ip);
    expect(frame, "ip good, ip good, tcp unverifiable/fragment",
           "IPv4 in IPv4, cut by the outer fragment");
}

/* --- Reports --- */

static void test_report(void) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, UDP, 13);
    uint32_t udp = put_udp(frame, &flow4, 5);
    uint32_t good = get16(frame, udp + 6);
    set16(frame, udp + 6, good ^ 0x0100);
    struct result result = check(frame);
    const struct carry_packet_sum *sum = &result.sums[1];
    tap_ok(TAP_EQ(sum->stored, good ^ 0x0100) && TAP_EQ(sum->expected, good),
           "stored and expected values are reported");
    tap_ok(TAP_EQ(sum->field_offset, udp + 6) && TAP_EQ(sum->field_size, 2) &&
               TAP_EQ(sum->cover_offset, udp) && TAP_EQ(sum->cover_size, 13) &&
               TAP_EQ(sum->network_offset, ip) && TAP_EQ(sum->version, 4),
           "offsets and sizes are reported");
    tap_ok(TAP_EQ(oracle_fold(sum->pseudo),
                  oracle_value(&(struct oracle){pseudo(&flow4, UDP, 13).sum, false})),
           "the pseudo-header's partial sum is reported");
    sum = &result.sums[0];
    tap_ok(TAP_EQ(sum->field_offset, ip + 10) && TAP_EQ(sum->cover_offset, ip) &&
               TAP_EQ(sum->cover_size, 20) && TAP_EQ(sum->network_offset, ip) &&
               TAP_EQ(sum->pseudo, 0) && TAP_EQ(sum->stored, sum->expected),
           "the IPv4 header's sum is reported");

    result = check_cut(frame, ip + 19);
    sum = &result.sums[0];
    tap_ok(TAP_EQ(sum->version, 4) && TAP_EQ(sum->network_offset, ip) &&
               TAP_EQ(sum->field_offset, ip + 10),
           "the offset of the sum of a cut header is reported");
}

static void test_capacity_and_depth(void) {
    struct frame *frame = start(ETHERNET4);
    put_inner(frame, false);
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    struct carry_packet_sum sums[2];
    memset(sums, 0xa5, sizeof sums);
    tap_ok(TAP_EQ(carry_packet_check(&view, NULL, sums, 0), 0) && TAP_EQ(sums[0].protocol, 0xa5),
           "capacity 0");
    tap_ok(TAP_EQ(carry_packet_check(&view, NULL, sums, 1), 1) && TAP_EQ(sums[1].protocol, 0xa5),
           "capacity 1");

    const struct carry_frame empty = {NULL, 0, 0, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_check(&empty, NULL, sums, 2), 0), "an empty frame has no sums");
    const struct carry_frame small_wire = {frame->bytes, frame->size, 1, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_check(&small_wire, NULL, sums, 2), 2) &&
               TAP_EQ(sums[1].verdict, CARRY_VERDICT_GOOD),
           "a wire length below the captured one is ignored");

    frame = start(ETHERNET4);
    for (uint32_t depth = 100; depth > 0; depth--)
        put_ip(frame, 4, (depth - 1) * 20);
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.count, CARRY_PACKET_SUMS_MAX - 1), "of 100 headers, %zu are examined",
           result.count);

    frame = start(ETHERNET "8100");
    for (int i = 0; i < 10000; i++)
        put(frame, "0064 8100");
    expect(frame, "", "10,000 VLAN tags");
}

static void test_names(void) {
    tap_ok(TAP_STREQ(carry_packet_protocol_name(CARRY_PROTOCOL_UDPLITE), "udplite") &&
               TAP_STREQ(carry_packet_verdict_name(CARRY_VERDICT_PARTIAL), "partial") &&
               TAP_STREQ(carry_packet_reason_name(CARRY_REASON_SNAPLEN), "snaplen"),
           "names");
    tap_ok(TAP_STREQ(carry_packet_protocol_name(CARRY_PROTOCOL_COUNT), "unknown") &&
               TAP_STREQ(carry_packet_verdict_name(CARRY_VERDICT_COUNT), "unknown") &&
               TAP_STREQ(carry_packet_reason_name(CARRY_REASON_COUNT), "unknown"),
           "numbers out of range have no name");
    bool all = true;
    for (unsigned i = 0; i < CARRY_VERDICT_COUNT; i++)
        all = all && TAP_TRUE(carry_packet_verdict_name(i));
    for (unsigned i = 0; i < CARRY_REASON_COUNT; i++)
        all = all && TAP_TRUE(carry_packet_reason_name(i));
    tap_ok(all, "every verdict and reason has a name");
}

/* Tests sound frames with some changed bytes: reads remain inside the frame,
   and repairs make sums good. */
static void test_damaged_frames(void) {
    rng_restart();
    bool ok = true;
    for (int round = 0; round < 20000 && ok; round++) {
        struct frame *frame = start(round & 1 ? ETHERNET6 : ETHERNET4);
        put_inner(frame, round & 1);
        for (size_t changes = 1 + rng_below(4); changes; changes--)
            frame->bytes[12 + rng_below(frame->size - 12)] = (uint8_t)rng_next();
        struct result result = check_cut(frame, frame->size - (uint32_t)rng_below(8));
        ok = ok && TAP_TRUE(repairs(frame, &result));
    }
    tap_ok(ok, "in damaged frames, storing the expected value makes bad sums good");
}

int main(void) {
    test_padding_and_trailers_lie_outside();
    test_udp_covers_its_own_length();
    test_udplite_coverage();
    test_udplite_zero_is_illegal();
    test_length_beyond_the_wire();
    test_snaplen();
    test_jumbo_lengths();
    test_length_0_without_offload();
    test_udp_zero();
    test_zero_and_ffff_are_equal();
    test_swapped_words_stay_good();
    test_partial();
    test_partial_of_any_length();
    test_partial_from_the_same_lengths();
    test_fragments();
    test_atomic_fragments_are_whole();
    test_routing_headers();
    test_home_address();
    test_malformed_options();
    test_source_routes();
    test_extension_headers();
    test_ah_and_esp();
    test_malformed_ip();
    test_icmp_errors();
    test_icmp_extension();
    test_icmp_extension_that_is_not_announced();
    test_icmp_extension_that_is_cut_is_no_packet();
    test_icmp_errors_that_have_no_extension();
    test_icmp_extension_is_repaired();
    test_icmp_extension_in_fragments_and_quotes();
    test_icmp_extensions_within_each_other();
    test_icmp_extended_echo();
    test_icmp_extended_echo_with_data();
    test_icmp_types();
    test_icmpv6_redirects();
    test_icmp_and_igmp();
    test_ip_in_ip();
    test_report();
    test_capacity_and_depth();
    test_names();
    test_damaged_frames();
    return tap_done();
}
