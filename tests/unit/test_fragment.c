/* SPDX-License-Identifier: MIT */
/*
 * Tests carry_packet_check_fragment() with whole frames, and with frames cut at every length
 * against a guard page.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/frame.h"
#include "harness/tap.h"

#define MORE 0x2000

static struct carry_packet_fragment found;

/*
 * Checks that carry_packet_check_fragment() lists the same sums as carry_packet_check(), and finds
 * the same fragment with and without room for sums.
 */
static bool agrees_with_check(const struct carry_frame *view) {
    static struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX], both[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    memset(&fragment, 0xee, sizeof fragment);
    size_t count = carry_packet_check(view, NULL, sums, CARRY_PACKET_SUMS_MAX);
    return carry_packet_check_fragment(view, NULL, both, CARRY_PACKET_SUMS_MAX, &fragment) ==
               count &&
           memcmp(sums, both, count * sizeof *sums) == 0 && fragment.version == found.version &&
           (!found.version || memcmp(&fragment, &found, sizeof found) == 0);
}

static bool find_fragment(const struct frame *frame, uint32_t captured) {
    const struct carry_frame view = view_cut(frame, captured);
    memset(&found, 0xee, sizeof found);
    if (carry_packet_check_fragment(&view, NULL, NULL, 0, &found) != 0 || !agrees_with_check(&view))
        tap_ok(false, "sums and fragments are the same alone and together, at %u bytes", captured);
    return found.version != 0;
}

/* Checks every cut: a cut frame has the result of the whole frame if its headers are complete, and
   otherwise no result. */
static bool cuts_agree(const struct frame *frame, const struct carry_packet_fragment *whole) {
    for (uint32_t captured = 0; captured < frame->size; captured++) {
        bool is_there = whole && captured >= whole->content_offset;
        if (find_fragment(frame, captured) != is_there ||
            (is_there && memcmp(&found, whole, sizeof found) != 0)) {
            tap_note("cut to %u bytes", captured);
            return false;
        }
    }
    return true;
}

static void expect_none(const struct frame *frame, const char *name) {
    tap_ok(TAP_TRUE(!find_fragment(frame, frame->size)) && TAP_TRUE(cuts_agree(frame, NULL)), "%s",
           name);
}

/*
 * Checks the fragment in a frame. `expected` is "version identification protocol: place+size",
 * followed by "..." if it is not the last fragment.
 */
static void expect_fragment(const struct frame *frame, const char *expected, const char *name) {
    char text[100] = "none";
    if (find_fragment(frame, frame->size))
        snprintf(text, sizeof text, "%u %x %u: %u+%u%s", found.version, found.identification,
                 found.protocol, found.place, found.size, found.more ? "..." : "");
    struct carry_packet_fragment whole = found;
    bool ok = strcmp(text, expected) == 0;
    if (!ok)
        tap_note("%s, not %s", text, expected);
    tap_ok(TAP_TRUE(ok) && TAP_TRUE(cuts_agree(frame, &whole)), "%s", name);
}

/* Returns a frame with 16 bytes of UDP in a fragment; `field` contains its flags and its place. */
static struct frame *start_ip(const char *link, uint32_t field) {
    struct frame *frame = start(link);
    uint32_t ip = put_ip(frame, UDP, 16);
    set16(frame, ip + 6, field);
    seal_ip(frame, ip);
    put_udp(frame, &flow4, 8);
    return frame;
}

static struct frame *start_ipv6(uint32_t field) {
    struct frame *frame = start(ETHERNET6);
    put_ipv6(frame, 44, 24);
    set16(frame, put(frame, "11 00 0000 12345678") + 2, field);
    put_udp(frame, &flow6, 8);
    return frame;
}

static void test_ip(void) {
    expect_fragment(start_ip(ETHERNET4, MORE), "4 1234 17: 0+16...", "first over IPv4");
    expect_fragment(start_ip(ETHERNET4, MORE | 3), "4 1234 17: 24+16...", "middle over IPv4");
    expect_fragment(start_ip(ETHERNET4, 0x1fff), "4 1234 17: 65528+16", "last over IPv4");
    expect_none(start_ip(ETHERNET4, 0x4000), "don't fragment is no fragment");
    expect_none(start_ip(ETHERNET4, 0), "a whole datagram over IPv4");

    struct frame *frame = start_ip(ETHERNET4, MORE);
    put(frame, "00 00 00 00 00 00");
    expect_fragment(frame, "4 1234 17: 0+16...", "padding is not part of a fragment");
    frame->size -= 7;
    expect_none(frame, "beyond the wire");
}

static void test_ipv6(void) {
    expect_fragment(start_ipv6(1), "6 12345678 17: 0+16...", "first over IPv6");
    expect_fragment(start_ipv6(0x19), "6 12345678 17: 24+16...", "middle over IPv6");
    expect_fragment(start_ipv6(0x18), "6 12345678 17: 24+16", "last over IPv6");
    expect_none(start_ipv6(0), "an atomic fragment is whole");
}

/* The outermost fragment counts: inner ones are only known after it has been reassembled. */
static void test_tunnels(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, 4, 36);
    uint32_t inner = put_ip(frame, UDP, 16);
    set16(frame, inner + 6, MORE);
    put_udp(frame, &flow4, 8);
    expect_fragment(frame, "4 1234 17: 0+16...", "inside a tunnel");
    tap_ok(TAP_TRUE(find_fragment(frame, frame->size)) && TAP_EQ(found.network_offset, inner),
           "the fragment's IP header is the inner one");
    set16(frame, inner - 20 + 6, MORE);
    expect_fragment(frame, "4 1234 4: 0+36...", "of the tunnel's own packet");
}

static void test_options(void) {
    const struct carry_packet_options options = {.flags = CARRY_PACKET_NO_TUNNELS};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, 4, 36);
    set16(frame, put_ip(frame, UDP, 16) + 6, MORE);
    put_udp(frame, &flow4, 8);
    const struct carry_frame view = {.data = frame->bytes,
                                     .captured = frame->size,
                                     .wire = frame->size,
                                     .linktype = frame->linktype};
    size_t count = carry_packet_check_fragment(&view, &options, sums, 1, &found);
    tap_ok(TAP_EQ(count, 1) && TAP_TRUE(!found.version),
           "no fragment is found in excluded tunnels");
}

/* Returns whether a frame with `tags` VLAN tags before IP and UDP is reported as too deep. */
static bool is_deeper(unsigned tags) {
    struct frame *frame = start(ETHERNET "8100");
    for (unsigned i = 1; i < tags; i++)
        put(frame, "0001 8100");
    put(frame, "0001 0800");
    put_ip(frame, UDP, 16);
    put_udp(frame, &flow4, 8);
    find_fragment(frame, frame->size);
    return found.deeper;
}

static void test_depth(void) {
    tap_ok(TAP_TRUE(!is_deeper(1)) && TAP_TRUE(!is_deeper(CARRY_PACKET_SUMS_MAX - 3)),
           "32 headers are examined");
    tap_ok(TAP_TRUE(is_deeper(CARRY_PACKET_SUMS_MAX - 2)) &&
               TAP_TRUE(is_deeper(2 * CARRY_PACKET_SUMS_MAX)),
           "a frame with more headers is reported as too deep");
}

static void test_quoted(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 44);
    put(frame, "03 01 0000 00000000");
    uint32_t quoted = put_ip(frame, UDP, 16);
    set16(frame, quoted + 6, MORE);
    put_udp(frame, &flow4, 8);
    expect_none(frame, "a fragment quoted in an ICMP error is not this frame's");
}

static uint32_t scope_of(const struct frame *frame) {
    return find_fragment(frame, frame->size) ? found.scope : 0;
}

static void test_scope(void) {
    uint32_t bare = scope_of(start_ip(ETHERNET4, MORE));
    uint32_t one = scope_of(start_ip(ETHERNET "8100 0001 0800", MORE));
    uint32_t urgent = scope_of(start_ip(ETHERNET "8100 e001 0800", MORE));
    uint32_t two = scope_of(start_ip(ETHERNET "8100 0002 0800", MORE));
    uint32_t one_two = scope_of(start_ip(ETHERNET "88a8 0001 8100 0002 0800", MORE));
    uint32_t two_one = scope_of(start_ip(ETHERNET "88a8 0002 8100 0001 0800", MORE));
    tap_ok(TAP_NE(bare, one) && TAP_NE(one, two) && TAP_NE(one_two, two_one) &&
               TAP_NE(one_two, two),
           "VLANs are scopes");
    tap_ok(TAP_EQ(one, urgent), "the priority in a VLAN tag is no scope");

    uint32_t scopes[2];
    for (unsigned i = 0; i < 2; i++) {
        struct frame *frame = start_ip("0800 0000 00000007 0001 00 06 0000000000000000", MORE);
        frame->linktype = 276;
        frame->bytes[7] = (uint8_t)i;
        scopes[i] = scope_of(frame);
    }
    tap_ok(TAP_NE(scopes[0], scopes[1]), "interfaces are scopes in cooked captures");
}

/* --- Scopes of tunnels --- */

enum { GRE = 47 };

/* Appends a fragment of IPv4, the content of a link or a tunnel. */
static void put_fragment(struct frame *frame) {
    uint32_t ip = put_ip(frame, UDP, 16);
    set16(frame, ip + 6, MORE);
    seal_ip(frame, ip);
    put_udp(frame, &flow4, 8);
}

static struct frame *start_behind(const char *link) {
    struct frame *frame = start(link);
    put_fragment(frame);
    return frame;
}

static uint32_t scope_behind(const char *link) {
    return scope_of(start_behind(link));
}

static struct frame *start_in_gre(const char *header) {
    struct frame *frame = start(ETHERNET4);
    uint32_t ip = put_ip(frame, GRE, 0);
    put(frame, header);
    put_fragment(frame);
    set16(frame, ip + 2, frame->size - ip);
    return frame;
}

static uint32_t scope_in_gre(const char *header) {
    return scope_of(start_in_gre(header));
}

/*
 * Returns a frame of a tunnel over UDP. Sets the lengths of IP and UDP, and that in the header of
 * GTP.
 */
static struct frame *start_in_udp(const char *link, uint16_t port, const char *header) {
    struct frame *frame = start(link);
    uint32_t ip = put_ip(frame, UDP, 0);
    uint32_t udp = put(frame, "c350 0000 0000 0000");
    put(frame, header);
    uint32_t content = frame->size;
    put_fragment(frame);
    set16(frame, udp + 2, port);
    set16(frame, udp + 4, frame->size - udp);
    set16(frame, ip + 2, frame->size - ip);
    if (port == 2152)
        set16(frame, udp + 10, frame->size - udp - 8 - 8);
    if (port == 3386)
        set16(frame, udp + 10, frame->size - content);
    return frame;
}

static uint32_t scope_in_udp_behind(const char *link, uint16_t port, const char *header) {
    return scope_of(start_in_udp(link, port, header));
}

static uint32_t scope_in_udp(uint16_t port, const char *header) {
    return scope_in_udp_behind(ETHERNET4, port, header);
}

/*
 * Compares scopes of two tunnels. `a` and `other` must differ. `same` must equal `a`: it is the
 * scope of the same tunnel after a change that does not concern the tunnel's identity.
 */
static void expect_scopes(uint32_t a, uint32_t same, uint32_t other, const char *name) {
    tap_ok(TAP_TRUE(a) && TAP_EQ(a, same) && TAP_NE(a, other), "%s are scopes", name);
}

static void test_scopes_on_links(void) {
#define MPLS     ETHERNET "8847"
#define ENTROPY1 "000070ff 123450ff"
#define ENTROPY2 "000070ff 543210ff"
    expect_scopes(scope_behind(MPLS "00064140"), scope_behind(MPLS "00064fff"),
                  scope_behind(MPLS "00065140"), "MPLS labels");
    expect_scopes(scope_behind(MPLS "00064040 00065140"), scope_behind(MPLS "000640ff 000651ff"),
                  scope_behind(MPLS "00065040 00064140"), "MPLS stacks");
    expect_scopes(scope_behind(MPLS ENTROPY1 "00064140"), scope_behind(MPLS ENTROPY2 "00064140"),
                  scope_behind(MPLS ENTROPY1 "00065140"), "MPLS labels except entropy labels");
#define NSH(rest) ETHERNET "894f 0fc2 02 01" rest
    expect_scopes(scope_behind(NSH("004500ff")), scope_behind(NSH("004500fe")),
                  scope_behind(NSH("004501ff")), "NSH paths, without the place on the path,");
#define PPPOE(session) ETHERNET "8864 11 00" session "0026 0021"
    expect_scopes(scope_behind(PPPOE("0001")), scope_behind(PPPOE("0001")),
                  scope_behind(PPPOE("0002")), "PPPoE sessions");
    expect_scopes(scope_behind(ETHERNET "88e7 00000123" ETHERNET4),
                  scope_behind(ETHERNET "88e7 e0000123" ETHERNET4),
                  scope_behind(ETHERNET "88e7 00000124" ETHERNET4), "I-tags' services");
}

static void test_scopes_in_gre(void) {
    expect_scopes(scope_in_gre("2000 0800 00000007"), scope_in_gre("a000 0800 1111 2222 00000007"),
                  scope_in_gre("2000 0800 00000008"), "GRE keys");
    expect_scopes(
        scope_in_gre("2000 0800 00000007"), scope_in_gre("6000 0800 1111 2222 00000007 00000000"),
        scope_in_gre("6000 0800 1111 2222 00000008 00000000"), "GRE keys before source routes");
    expect_scopes(scope_in_gre("1000 0800 00000001"), scope_in_gre("1000 0800 00000002"),
                  scope_in_gre("2000 0800 00000001"), "GRE keys, not its sequence numbers,");
    expect_scopes(scope_in_gre("3001 880b 0028 0006 00000001 ff03 0021"),
                  scope_in_gre("3001 880b 0028 0006 00000002 ff03 0021"),
                  scope_in_gre("3001 880b 0028 0007 00000001 ff03 0021"), "PPTP calls");
    expect_scopes(scope_in_gre("1000 88be 00000001 1064 8803 00000000" ETHERNET4),
                  scope_in_gre("1000 88be 00000002 1064 0003 00000001" ETHERNET4),
                  scope_in_gre("1000 88be 00000001 1064 8804 00000000" ETHERNET4),
                  "ERSPAN sessions");
    expect_scopes(scope_in_gre("1000 88be 00000001 1064 8803 00000000" ETHERNET4),
                  scope_in_gre("1000 88be 00000001 1064 8803 00000000" ETHERNET4),
                  scope_in_gre("1000 88be 00000001 1065 8803 00000000" ETHERNET4),
                  "VLANs in ERSPAN headers");
}

static void test_scopes_in_udp(void) {
    expect_scopes(scope_in_udp(4789, "08000000 00002a00" ETHERNET4),
                  scope_in_udp(4789, "88000007 00002a00" ETHERNET4),
                  scope_in_udp(4789, "08000000 00002b00" ETHERNET4), "VXLAN identifiers");
    expect_scopes(scope_in_udp(6081, "0000 0800 00002a00"),
                  scope_in_udp(6081, "0180 0800 00002a00 01020000"),
                  scope_in_udp(6081, "0000 0800 00002b00"), "Geneve identifiers");
    expect_scopes(scope_in_udp(2152, "30ff 0000 00000001"),
                  scope_in_udp(2152, "30ff 0000 00000001"),
                  scope_in_udp(2152, "30ff 0000 00000002"), "GTP tunnels");
    expect_scopes(scope_in_udp(3386, "1eff 0000 0000 0001 00ffffff 0123456789abcdef"),
                  scope_in_udp(3386, "1eff 0000 0001 0002 00ffffff 0123456789abcdef"),
                  scope_in_udp(3386, "1eff 0000 0000 0001 00ffffff 1123456789abcdef"),
                  "GTP version 0's tunnels");
    expect_scopes(scope_in_udp(3386, "1eff 0000 0000 0001 00ffffff 0123456789abcdef"),
                  scope_in_udp(3386, "1eff 0000 0000 0001 00ffffff 0123456789abcdef"),
                  scope_in_udp(3386, "1eff 0000 0000 0001 00ffffff 0123456789abcdee"),
                  "GTP version 0's contexts");
    expect_scopes(scope_in_udp(1701, "0002 0011 0022 ff03 0021"),
                  scope_in_udp(1701, "0802 0011 0022 0001 0000 ff03 0021"),
                  scope_in_udp(1701, "0002 0012 0022 ff03 0021"), "L2TP tunnels");
    expect_scopes(scope_in_udp(1701, "0002 0011 0022 ff03 0021"),
                  scope_in_udp(1701, "4002 0030 0011 0022 ff03 0021"),
                  scope_in_udp(1701, "0002 0011 0023 ff03 0021"), "L2TP sessions");
    expect_scopes(scope_in_udp(4341, "08000000 000007ff"), scope_in_udp(4341, "88112233 00000700"),
                  scope_in_udp(4341, "08000000 000008ff"), "LISP instances");
    expect_scopes(scope_in_udp(6635, "00064140"), scope_in_udp(6635, "00064fff"),
                  scope_in_udp(6635, "00065140"), "MPLS labels in UDP");
}

#define WLAN_AGGREGATE "8801 2c00 020000000001 020000000002 020000000003 1000 8000"
#define SUBFRAME(size) ETHERNET size "aaaa03 000000"

static void test_scopes_in_aggregates(void) {
#define VLAN3  ETHERNET "8100 0003 0800"
#define VLAN5  "8100 0005"
#define CAPWAP "00100300 00000000" WLAN_AGGREGATE
    const char *first = CAPWAP SUBFRAME("002c") "0800";
    const char *second = CAPWAP SUBFRAME("000c") VLAN5 "0806 0000" SUBFRAME("002c") "0800";
    expect_scopes(scope_in_udp_behind(VLAN3, 5247, first), scope_in_udp_behind(VLAN3, 5247, second),
                  scope_in_udp(5247, second),
                  "VLANs and tunnels around an A-MSDU, but not those in another packet of it,");
}

/*
 * Returns the scope of a fragment in IP in IP. Unless `changed` is 0, the byte at this offset of
 * the outer header has another value.
 */
static uint32_t scope_between(bool version6, uint32_t changed) {
    struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
    uint32_t outer = version6 ? put_ipv6(frame, 4, 36) : put_ip(frame, 4, 36);
    frame->bytes[outer + changed] ^= changed ? 1 : 0;
    put_fragment(frame);
    return scope_of(frame);
}

static void test_scopes_of_tunnel_ends(void) {
    for (int version6 = 0; version6 < 2; version6++) {
        uint32_t hops = version6 ? 7 : 8, src = version6 ? 8 : 12, last = version6 ? 39 : 19;
        uint32_t there = scope_between(version6, 0), later = scope_between(version6, hops);
        expect_scopes(there, later, scope_between(version6, src), "sources of tunnels");
        expect_scopes(there, later, scope_between(version6, last), "destinations of tunnels");
    }
}

/* Checks that each bit of `mask`, among the 32 bits at `offset`, changes the scope. */
static void expect_bits(struct frame *frame, uint32_t offset, uint32_t mask, const char *name) {
    const uint32_t scope = scope_of(frame);
    bool ok = scope;
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint8_t *byte = frame->bytes + offset + 3 - bit / 8, flip = (uint8_t)(1 << bit % 8);
        *byte ^= flip;
        const uint32_t other = scope_of(frame);
        *byte ^= flip;
        if (mask >> bit & 1 && (!other || other == scope)) {
            tap_note("bit %u", bit);
            ok = false;
        }
    }
    tap_ok(ok, "every bit counts of %s", name);
}

static void test_every_bit_of_scopes(void) {
    enum { IN_LINK = 14, IN_GRE = 14 + 20, IN_UDP = 14 + 20 + 8 };
    expect_bits(start_behind(ETHERNET "8100 0001 0800"), IN_LINK, 0x0fff0000, "VLANs");
    expect_bits(start_behind(MPLS "00064140"), IN_LINK, 0xfffff000, "MPLS labels");
    expect_bits(start_behind(NSH("004500ff")), IN_LINK + 4, 0xffffff00, "NSH paths");
    expect_bits(start_behind(PPPOE("0001")), IN_LINK, 0x0000ffff, "PPPoE sessions");
    expect_bits(start_behind(ETHERNET "88e7 00000123" ETHERNET4), IN_LINK, 0x00ffffff, "I-tags");
    expect_bits(start_in_gre("2000 0800 00000007"), IN_GRE + 4, 0xffffffff, "GRE keys");
    expect_bits(start_in_gre("3001 880b 0028 0006 00000001 ff03 0021"), IN_GRE + 4, 0x0000ffff,
                "PPTP calls");
    expect_bits(start_in_gre("1000 88be 00000001 1064 8803 00000000" ETHERNET4), IN_GRE + 8,
                0x0fff03ff, "ERSPAN VLANs and sessions");
    expect_bits(start_in_udp(ETHERNET4, 4789, "08000000 00002a00" ETHERNET4), IN_UDP + 4,
                0xffffff00, "VXLAN identifiers");
    expect_bits(start_in_udp(ETHERNET4, 6081, "0000 0800 00002a00"), IN_UDP + 4, 0xffffff00,
                "Geneve identifiers");
    expect_bits(start_in_udp(ETHERNET4, 2152, "30ff 0000 00000001"), IN_UDP + 4, 0xffffffff,
                "GTP tunnels");
    const char *gtp0 = "1eff 0000 0000 0001 00ffffff 0123456789abcdef";
    expect_bits(start_in_udp(ETHERNET4, 3386, gtp0), IN_UDP + 12, 0xffffffff, "GTP's subscribers");
    expect_bits(start_in_udp(ETHERNET4, 3386, gtp0), IN_UDP + 16, 0xffffffff, "GTP's contexts");
    expect_bits(start_in_udp(ETHERNET4, 1701, "0002 0011 0022 ff03 0021"), IN_UDP + 2, 0xffffffff,
                "L2TP tunnels and sessions");
    expect_bits(start_in_udp(ETHERNET4, 4341, "08000000 000007ff"), IN_UDP + 4, 0xffffff00,
                "LISP instances");
}

int main(void) {
    test_ip();
    test_ipv6();
    test_tunnels();
    test_options();
    test_depth();
    test_quoted();
    test_scope();
    test_scopes_on_links();
    test_scopes_in_gre();
    test_scopes_in_udp();
    test_scopes_in_aggregates();
    test_scopes_of_tunnel_ends();
    test_every_bit_of_scopes();
    return tap_done();
}
