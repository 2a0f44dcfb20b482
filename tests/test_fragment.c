/* SPDX-License-Identifier: MIT */
/*
 * carry_packet_fragment(), and carry_packet_check_fragment(), which says the same: each frame
 * whole, and cut at every length against a guard page.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/frame.h"
#include "harness/guard.h"
#include "harness/tap.h"

#define MORE 0x2000

static struct carry_packet_fragment found;

static bool agrees_with_check(const struct carry_frame *view, bool is_there) {
    static struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX], both[CARRY_PACKET_SUMS_MAX];
    struct carry_packet_fragment fragment;
    memset(&fragment, 0xee, sizeof fragment);
    size_t count = carry_packet_check(view, NULL, sums, CARRY_PACKET_SUMS_MAX);
    return carry_packet_check_fragment(view, NULL, both, CARRY_PACKET_SUMS_MAX, &fragment) ==
               count &&
           memcmp(sums, both, count * sizeof *sums) == 0 && (fragment.version != 0) == is_there &&
           (!is_there || memcmp(&fragment, &found, sizeof found) == 0);
}

static bool find(const struct frame *frame, uint32_t captured) {
    static struct guard guard;
    if (!guard.end)
        guard = guard_open(FRAME_MAX);
    uint8_t *data = guard.end - captured;
    memcpy(data, frame->bytes, captured);
    const struct carry_frame view = {
        .data = data, .captured = captured, .wire = frame->size, .linktype = frame->linktype};
    memset(&found, 0xee, sizeof found);
    bool is_there = carry_packet_fragment(&view, &found);
    if (!agrees_with_check(&view, is_there))
        tap_ok(false, "both functions agree, at %u bytes", captured);
    return is_there;
}

/* A cut never changes what is found: once the headers are there it is the same, before nothing. */
static bool cuts_agree(const struct frame *frame, const struct carry_packet_fragment *whole) {
    for (uint32_t captured = 0; captured < frame->size; captured++) {
        bool is_there = whole && captured >= whole->content_offset;
        if (find(frame, captured) != is_there ||
            (is_there && memcmp(&found, whole, sizeof found) != 0)) {
            tap_note("cut to %u bytes", captured);
            return false;
        }
    }
    return true;
}

static void expect_none(const struct frame *frame, const char *name) {
    tap_ok(!find(frame, frame->size) && cuts_agree(frame, NULL), "%s", name);
}

/* `expected` is "version identification protocol: place+size", with "..." where more follow. */
static void expect_fragment(const struct frame *frame, const char *expected, const char *name) {
    char text[100] = "none";
    if (find(frame, frame->size))
        snprintf(text, sizeof text, "%u %x %u: %u+%u%s", found.version, found.identification,
                 found.protocol, found.place, found.size, found.more ? "..." : "");
    struct carry_packet_fragment whole = found;
    bool ok = strcmp(text, expected) == 0;
    if (!ok)
        tap_note("%s, not %s", text, expected);
    tap_ok(ok && cuts_agree(frame, &whole), "%s", name);
}

/* 16 bytes of UDP, as the fragment that the field says. */
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
    expect_fragment(frame, "4 1234 17: 0+16...", "padding is no part of it");
    frame->size -= 7;
    expect_none(frame, "beyond the wire");
}

static void test_ipv6(void) {
    expect_fragment(start_ipv6(1), "6 12345678 17: 0+16...", "first over IPv6");
    expect_fragment(start_ipv6(0x19), "6 12345678 17: 24+16...", "middle over IPv6");
    expect_fragment(start_ipv6(0x18), "6 12345678 17: 24+16", "last over IPv6");
    expect_none(start_ipv6(0), "an atomic fragment is whole");
}

/* The outermost one counts: what it holds of others has to be put together first. */
static void test_tunnels(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, 4, 36);
    uint32_t inner = put_ip(frame, UDP, 16);
    set16(frame, inner + 6, MORE);
    put_udp(frame, &flow4, 8);
    expect_fragment(frame, "4 1234 17: 0+16...", "inside a tunnel");
    tap_ok(find(frame, frame->size) && found.network_offset == inner, "its IP header is the inner");
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
    tap_ok(count == 1 && !found.version, "none is looked for in tunnels that are barred");
}

static void test_quoted(void) {
    struct frame *frame = start(ETHERNET4);
    put_ip(frame, ICMP, 44);
    put(frame, "03 01 0000 00000000");
    uint32_t quoted = put_ip(frame, UDP, 16);
    set16(frame, quoted + 6, MORE);
    put_udp(frame, &flow4, 8);
    expect_none(frame, "an ICMP error quotes what is no fragment of this frame");
}

static uint32_t scope_of(const struct frame *frame) {
    return find(frame, frame->size) ? found.scope : 0;
}

static void test_scope(void) {
    uint32_t bare = scope_of(start_ip(ETHERNET4, MORE));
    uint32_t one = scope_of(start_ip(ETHERNET "8100 0001 0800", MORE));
    uint32_t urgent = scope_of(start_ip(ETHERNET "8100 e001 0800", MORE));
    uint32_t two = scope_of(start_ip(ETHERNET "8100 0002 0800", MORE));
    uint32_t one_two = scope_of(start_ip(ETHERNET "88a8 0001 8100 0002 0800", MORE));
    uint32_t two_one = scope_of(start_ip(ETHERNET "88a8 0002 8100 0001 0800", MORE));
    tap_ok(bare != one && one != two && one_two != two_one && one_two != two, "VLANs are scopes");
    tap_ok(one == urgent, "the priority in a VLAN tag is no scope");

    uint32_t scopes[2];
    for (unsigned i = 0; i < 2; i++) {
        struct frame *frame = start_ip("0800 0000 00000007 0001 00 06 0000000000000000", MORE);
        frame->linktype = 276;
        frame->bytes[7] = (uint8_t)i;
        scopes[i] = scope_of(frame);
    }
    tap_ok(scopes[0] != scopes[1], "interfaces are scopes in cooked captures");
}

int main(void) {
    test_ip();
    test_ipv6();
    test_tunnels();
    test_options();
    test_quoted();
    test_scope();
    return tap_done();
}
