/* SPDX-License-Identifier: MIT */
/*
 * Tests the packet walk on protocols other than TCP, UDP and ICMP: the bytes that each sum covers,
 * and bytes that only the sums of similar protocols cover. harness/frame.h describes how every
 * frame is checked.
 */
#include <stdio.h>
#include <string.h>

#include "harness/frame.h"
#include "harness/rng.h"
#include "harness/tap.h"

enum {
    DCCP = 33,
    RSVP = 46,
    EIGRP = 88,
    OSPF = 89,
    PIM = 103,
    VRRP = 112,
    PGM = 113,
    MIPV6 = 135,
    SCTP = 132,
    HIP = 139,
};

static const struct flow *flow_of(bool version6) {
    return version6 ? &flow6 : &flow4;
}

/* Returns a frame up to the end of the IP header, for `size` bytes of content. */
static struct frame *start_ip(bool version6, uint8_t protocol, uint32_t size) {
    struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
    if (version6)
        put_ipv6(frame, protocol, size);
    else
        put_ip(frame, protocol, size);
    return frame;
}

/* Expects "ip good, " before the verdicts over IPv4, which has its own sum. */
static void expect_ip(const struct frame *frame, bool version6, const char *expected,
                      const char *name) {
    char all[200] = "";
    if (!version6)
        strcpy(all, "ip good, ");
    strcat(all, expected);
    expect(frame, all, "%s over %s", name, version6 ? "IPv6" : "IPv4");
}

/*
 * Checks a message of `size` bytes at the end of the frame: its sum is good, and covers its second
 * and its last byte.
 */
static void expect_covered(struct frame *frame, bool version6, const char *protocol, uint32_t size,
                           const char *name) {
    char expected[40];
    snprintf(expected, sizeof expected, "%s good", protocol);
    expect_ip(frame, version6, expected, name);
    snprintf(expected, sizeof expected, "%s bad", protocol);
    frame->bytes[frame->size - 1] ^= 1;
    expect_ip(frame, version6, expected, "its last byte is covered,");
    frame->bytes[frame->size - 1] ^= 1;
    frame->bytes[frame->size - size + 1] ^= 0x80;
    struct result result = check(frame);
    tap_ok(TAP_TRUE(result.count) &&
               TAP_NE(result.sums[result.count - 1].verdict, CARRY_VERDICT_GOOD),
           "its second byte is covered");
    frame->bytes[frame->size - size + 1] ^= 0x80;
}

/* --- DCCP --- */

/*
 * Returns a DCCP-Data packet: a header of 12 bytes, and 10 bytes of data. Its Checksum Coverage
 * field contains `coverage`; its sum covers `covered` bytes.
 */
static struct frame *start_dccp(bool version6, unsigned coverage, uint32_t covered) {
    struct frame *frame = start_ip(version6, DCCP, 22);
    uint32_t dccp = put(frame, "1389 c001 03 00 0000 04 000001");
    put_many(frame, 10, 0x31, 7);
    frame->bytes[dccp + 5] = (uint8_t)(0x50 | coverage); /* CCVal does not affect the sum */
    seal(frame, dccp + 6, dccp, covered, pseudo(flow_of(version6), DCCP, 22));
    return frame;
}

static void test_dccp_coverage(void) {
    for (int version6 = 0; version6 < 2; version6++) {
        expect_covered(start_dccp(version6, 0, 22), version6, "dccp", 22, "DCCP coverage 0: all");
        for (unsigned coverage = 1; coverage <= 3; coverage++) {
            struct frame *frame = start_dccp(version6, coverage, 12 + (coverage - 1) * 4);
            uint32_t last = frame->size - 10 + (coverage - 1) * 4 - 1;
            expect_ip(frame, version6, "dccp good", "DCCP covers the header and some words");
            frame->bytes[last + 1] ^= 1;
            expect_ip(frame, version6, "dccp good", "bytes beyond the coverage do not matter,");
            frame->bytes[last] ^= 1;
            expect_ip(frame, version6, "dccp bad", "the last byte covered matters,");
        }
        for (unsigned coverage = 4; coverage < 16; coverage += 11)
            expect_ip(start_dccp(version6, coverage, 22), version6, "dccp unverifiable/malformed",
                      "DCCP coverage beyond the packet");
    }
    struct frame *frame = start_dccp(false, 1, 12);
    frame->bytes[frame->size - 22 + 4] = 1;
    expect(frame, "ip good, dccp unverifiable/malformed", "DCCP covering less than its checksum");
}

/* --- SCTP --- */

/* Stores at `field` the CRC of `size` bytes from `cover` on, lowest byte first. */
static void seal_crc32c(struct frame *frame, uint32_t field, uint32_t cover, uint32_t size) {
    memset(frame->bytes + field, 0, 4);
    uint32_t crc = oracle_run(&oracle_crc32c, frame->bytes + cover, size, 0);
    for (int i = 0; i < 4; i++)
        frame->bytes[field + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
}

/* Returns a frame with the common header, and a DATA chunk with `size` bytes. */
static struct frame *start_sctp(bool version6, uint32_t size) {
    struct frame *frame = start_ip(version6, SCTP, 12 + 16 + size);
    uint32_t sctp = put(frame, "1389 c001 12345678 00000000");
    put(frame, "00 03 0010 00000001 0000 0000 00000000");
    put_many(frame, size, 0x31, 7);
    seal_crc32c(frame, sctp + 8, sctp, 12 + 16 + size);
    return frame;
}

static void test_sctp_is_crc32c(void) {
    for (int version6 = 0; version6 < 2; version6++)
        for (uint32_t size = 0; size < 8; size++)
            expect_covered(start_sctp(version6, size), version6, "sctp", 28 + size, "SCTP");

    struct frame *frame = start_sctp(false, 300);
    uint32_t sctp = frame->size - 328,
             good = get16(frame, sctp + 8) << 16 | get16(frame, sctp + 10);
    put(frame, "fffefdfc");
    expect(frame, "ip good, sctp good", "SCTP ends with the datagram, trailers lie outside");
    uint32_t first = get16(frame, sctp + 100), second = get16(frame, sctp + 102);
    set16(frame, sctp + 100, second);
    set16(frame, sctp + 102, first);
    expect(frame, "ip good, sctp bad", "SCTP detects exchanged words");
    struct result result = check(frame);
    const struct carry_packet_sum *sum = &result.sums[1];
    tap_ok(TAP_EQ(sum->field_size, 4) && TAP_EQ(sum->field_offset, sctp + 8) &&
               TAP_EQ(sum->cover_offset, sctp) && TAP_EQ(sum->cover_size, 328) &&
               TAP_TRUE(!sum->pseudo) && TAP_EQ(sum->stored, good),
           "the four bytes are reported in the order of the frame");
    set16(frame, sctp + 100, first);
    set16(frame, sctp + 102, second);
    frame->bytes[sctp + 8] ^= 1;
    result = check(frame);
    tap_ok(TAP_EQ(sum->verdict, CARRY_VERDICT_BAD) && TAP_EQ(sum->stored, good ^ 0x01000000) &&
               TAP_EQ(sum->expected, good),
           "stored and expected are both in that order");
    memset(frame->bytes + sctp + 8, 0, 4);
    expect(frame, "ip good, sctp absent", "SCTP 0 is absent: agreed upon, or left to offload");
    frame->bytes[sctp + 11] = 1;
    expect(frame, "ip good, sctp bad", "SCTP 1: all four bytes are the field");
}

/* Routers may change packets that they quote. */
static void test_quoted_sctp(void) {
    struct frame *frame = start_ip(false, ICMP, 8 + 20 + 28);
    uint32_t icmp = put(frame, "03 03 0000 00000000");
    put_ip(frame, SCTP, 28);
    uint32_t sctp =
        put(frame, "1389 c001 12345678 00000000 00 03 0010 00000001 0000 0000 00000000");
    seal_crc32c(frame, sctp + 8, sctp, 28);
    seal(frame, icmp + 2, icmp, 8 + 20 + 28, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, sctp good", "a quoted packet of SCTP");
    frame->bytes[sctp + 8] ^= 1;
    seal(frame, icmp + 2, icmp, 8 + 20 + 28, oracle_start(0));
    expect(frame, "ip good, icmp good, ip good, sctp unverifiable/quoted",
           "a quoted packet of SCTP that does not verify is unverifiable");
}

static void test_sctp_without_room(void) {
    struct frame *frame = start_sctp(false, 21);
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    struct carry_packet_sum sums[2];
    memset(sums, 0x5a, sizeof sums);
    tap_ok(TAP_EQ(carry_packet_check(&view, NULL, sums, 1), 1) &&
               TAP_EQ(sums[0].protocol, CARRY_PROTOCOL_IP) && TAP_EQ(sums[1].protocol, 0x5a),
           "without room for it, SCTP is omitted");
}

static void test_sctp_is_filled_in(void) {
    struct frame *frame = start_sctp(false, 21);
    uint32_t sctp = frame->size - 49;
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    memset(frame->bytes + sctp + 8, 0, 4);
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 0), "repair does not change SCTP 0");
    tap_ok(TAP_EQ(carry_packet_fill(&view, NULL, NULL, 0), 1),
           "SCTP that was left to offload is filled in");
    expect(frame, "ip good, sctp good", "SCTP filled in");
    frame->bytes[sctp + 9] ^= 0x10;
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 1), "bad SCTP is repaired");
    expect(frame, "ip good, sctp good", "SCTP is repaired");
}

/* Stores the checksum of RFC 1950, section 8.2, computed a byte at a time. */
static void seal_adler32(struct frame *frame, uint32_t field, uint32_t cover, uint32_t size) {
    uint32_t sum = 1, of_sums = 0;
    memset(frame->bytes + field, 0, 4);
    for (uint32_t i = 0; i < size; i++) {
        sum = (sum + frame->bytes[cover + i]) % 65521;
        of_sums = (of_sums + sum) % 65521;
    }
    set16(frame, field, of_sums);
    set16(frame, field + 2, sum);
}

static enum carry_cause cause_of_sctp(const struct frame *frame) {
    return check(frame).sums[1].cause;
}

/* SCTP before RFC 3309 had this checksum: no receiver accepts it, but it is not damage. */
static void test_sctp_with_adler32(void) {
    static const uint32_t sizes[] = {0, 1, 300, 5551 - 28, 5552 - 28, 5553 - 28, 3 * 5552, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct frame *frame = start_sctp(false, sizes[i]);
        uint32_t size = 28 + sizes[i], sctp = frame->size - size;
        memset(frame->bytes + sctp + 28, 0xff, sizes[i]); /* the largest sums possible */
        seal_adler32(frame, sctp + 8, sctp, size);
        expect(frame, "ip good, sctp bad", "%u bytes of SCTP with Adler-32", size);
        tap_ok(TAP_EQ(cause_of_sctp(frame), CARRY_CAUSE_ADLER32), "Adler-32 is recognised");
        frame->bytes[frame->size - 1] ^= 1;
        tap_ok(TAP_EQ(cause_of_sctp(frame), CARRY_CAUSE_NONE),
               "damaged Adler-32 is not recognised");
    }
}

static void test_adler32_is_spared(void) {
    const struct carry_packet_options bad = {.fix = 1u << CARRY_VERDICT_BAD};
    for (int way = 0; way < 2; way++) {
        struct frame *frame = start_sctp(false, 300);
        uint32_t sctp = frame->size - 328;
        const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
        seal_adler32(frame, sctp + 8, sctp, 328);
        set16(frame, 14 + 10, 0x1234);
        tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 1),
               "repair changes everything except Adler-32");
        expect(frame, "ip good, sctp bad", "Adler-32 is not changed");
        size_t count =
            way ? carry_packet_fix(&view, &bad, NULL, 0) : carry_packet_fill(&view, NULL, NULL, 0);
        tap_ok(TAP_EQ(count, 1), way ? "if bad sums are requested, Adler-32 is replaced"
                                     : "filling in stores CRC32c only");
        expect(frame, "ip good, sctp good", "CRC32c replaces Adler-32");
    }
}

static void test_sctp_cut(void) {
    struct frame *frame = start_sctp(false, 300);
    frame->wire = frame->size--;
    expect(frame, "ip good, sctp unverifiable/snaplen", "SCTP with its last byte cut off");
    frame->size = 14 + 20 + 11;
    expect(frame, "ip good, sctp unverifiable/snaplen", "SCTP cut within the field");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].stored, 0), "no stored value is reported then");
    frame = start_ip(false, SCTP, 11);
    put(frame, "1389 c001 12345678 000000");
    expect(frame, "ip good, sctp unverifiable/malformed", "SCTP shorter than its header");
}

/* Returns a frame of SCTP in UDP, from a client's port: a common header, then `chunks`. */
static struct frame *start_sctp_udp(bool version6, const char *chunks) {
    struct frame *frame = start_ip(version6, UDP, 0);
    uint32_t udp = put(frame, "c350 26ab 0000 0000"), sctp = udp + 8;
    put(frame, "1389 c001 12345678 00000000");
    put(frame, chunks);
    uint32_t size = frame->size - udp;
    set16(frame, udp + 4, size);
    seal_crc32c(frame, sctp + 8, sctp, size - 8);
    seal(frame, udp + 6, udp, size, pseudo(flow_of(version6), UDP, size));
    set16(frame, version6 ? 14 + 4 : 14 + 2, version6 ? size : 20 + size);
    if (!version6)
        seal_ip(frame, 14);
    return frame;
}

#define DATA_CHUNK "00 03 0013 00000001 0000 0000 00000000 616263 00"

static void test_sctp_in_udp(void) {
    static const char *const sctp[] = {
        DATA_CHUNK,
        "03 00 0010 00000001 00001000 0000 0000" DATA_CHUNK DATA_CHUNK,
        "0e 00 0004",
        "40 03 0014 00000001 0000 0000 00000000 00000000",
        "84 00 0004 c1 00 0004",
    };
    for (int version6 = 0; version6 < 2; version6++)
        for (size_t i = 0; i < sizeof sctp / sizeof *sctp; i++)
            expect_ip(start_sctp_udp(version6, sctp[i]), version6, "udp good, sctp good",
                      "SCTP in UDP");
    static const char *const others[] = {
        "",
        "0f 00 0004",
        "45 00 0004",
        "00 03 0003",
        "00 03 0000",
        "00 03 0018 00000001 0000 0000 00000000 616263 00",
        DATA_CHUNK "00",
        DATA_CHUNK "00 03 00",
        DATA_CHUNK "00 03 0008",
        "00 03 0013 00000001 0000 0000 00000000 616263",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(start_sctp_udp(false, others[i]), "ip good, udp good",
               "no SCTP in UDP: chunks that do not fill it: %s", others[i]);

    struct frame *frame = start_sctp_udp(false, DATA_CHUNK);
    struct result result = check(frame);
    const struct carry_packet_sum *sum = &result.sums[2];
    tap_ok(TAP_EQ(sum->cover_offset, 14 + 20 + 8) && TAP_EQ(sum->cover_size, 12 + 20) &&
               TAP_TRUE(!sum->pseudo) && TAP_EQ(sum->network_offset, 14) && TAP_EQ(sum->version, 4),
           "the CRC covers the content of UDP, not its header");
    put(frame, "ffff");
    expect(frame, "ip good, udp good, sctp good", "padding after UDP is not covered");
    frame = start_sctp_udp(false, DATA_CHUNK);
    frame->bytes[frame->size - 2] ^= 1;
    expect(frame, "ip good, udp bad, sctp bad", "both sums cover the data");
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    tap_ok(TAP_EQ(carry_packet_fix(&view, NULL, NULL, 0), 2), "both sums are repaired");
    expect(frame, "ip good, udp good, sctp good", "SCTP in UDP is repaired");

    frame->wire = frame->size;
    frame->size -= 2;
    expect(frame, "ip good, udp unverifiable/snaplen, sctp unverifiable/snaplen",
           "SCTP in UDP, cut off in its last chunk");
}

/* RFC 6951, section 5.3: UDP around SCTP, unlike UDP around tunnels, must have a sum over IPv6. */
static void test_udp_zero_around_sctp(void) {
    struct frame *frame = start_sctp_udp(false, DATA_CHUNK);
    set16(frame, 14 + 20 + 6, 0);
    expect(frame, "ip good, udp absent, sctp good", "UDP 0 over IPv4 around SCTP");
    frame = start_sctp_udp(true, DATA_CHUNK);
    set16(frame, 14 + 40 + 6, 0);
    expect(frame, "udp illegal, sctp good", "UDP 0 over IPv6 around SCTP");
}

/* --- Routing protocols --- */

static struct frame *start_ospf2(const char *type, const char *authentication) {
    struct frame *frame = start_ip(false, OSPF, 24 + 20);
    uint32_t ospf = put(frame, "02 01 002c 0a000001 00000000 0000");
    put(frame, type);
    put(frame, authentication);
    uint32_t rest = put(frame, "ffffff00 000a 02 01 00000028 0a000001 00000000");
    struct oracle oracle = oracle_start(0);
    for (uint32_t i = rest; i < frame->size; i++)
        oracle_byte(&oracle, frame->bytes[i]);
    seal(frame, ospf + 12, ospf, 16, oracle);
    return frame;
}

static void test_ospf2_skips_its_authentication(void) {
    struct frame *frame = start_ospf2("0000", "0000000000000000");
    expect_covered(frame, false, "ospf", 44, "OSPFv2");
    frame = start_ospf2("0001", "7365637265740000");
    expect_covered(frame, false, "ospf", 44, "OSPFv2 with a password");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].gap_offset, 16) && TAP_EQ(result.sums[1].gap_size, 8) &&
               TAP_EQ(result.sums[1].cover_size, 44) && TAP_EQ(result.sums[1].pseudo, 0),
           "the gap is reported");
    for (uint32_t i = 16; i < 24; i++) {
        frame->bytes[frame->size - 44 + i] ^= 0x5a;
        expect(frame, "ip good, ospf good", "OSPFv2 authentication, byte %u, is not covered", i);
    }
    uint32_t good = get16(frame, frame->size - 44 + 12);
    set16(frame, frame->size - 44 + 12, 0x1234);
    result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].verdict, CARRY_VERDICT_BAD) &&
               TAP_EQ(result.sums[1].stored, 0x1234) && TAP_EQ(result.sums[1].expected, good),
           "the expected value excludes the authentication too");

    frame = start_ospf2("0002", "0000010a00001234");
    expect(frame, "ip good, ospf absent",
           "OSPFv2 with cryptographic authentication has no checksum");
    set16(frame, frame->size - 44 + 12, 0);
    expect(frame, "ip good, ospf absent",
           "OSPFv2 with cryptographic authentication has the checksum 0");
}

static void test_ospf2_lengths(void) {
    struct frame *frame = start_ospf2("0000", "0000000000000000");
    uint32_t ospf = frame->size - 44;
    set16(frame, 14 + 2, 20 + 44 + 6);
    seal_ip(frame, 14);
    put(frame, "fff60003 0001");
    expect(frame, "ip good, ospf good", "OSPFv2 covers its own length, not later bytes");
    for (uint32_t size = 0; size < 24; size++) {
        set16(frame, ospf + 2, size);
        expect(frame, "ip good, ospf unverifiable/malformed", "OSPFv2 length %u", size);
    }
    set16(frame, ospf + 2, 24);
    seal(frame, ospf + 12, ospf, 16, oracle_start(0));
    expect(frame, "ip good, ospf good", "OSPFv2 that ends with its authentication");
    set16(frame, ospf + 2, 51);
    expect(frame, "ip good, ospf unverifiable/malformed", "OSPFv2 length beyond the packet");
    frame->bytes[ospf] = 1;
    expect(frame, "ip good", "OSPF version 1 is not known");
}

/* Returns a Hello of 36 bytes, with `trailer` bytes after it. */
static struct frame *start_ospf3(bool version6, uint32_t trailer) {
    struct frame *frame = start_ip(version6, OSPF, 36 + trailer);
    uint32_t ospf = put(frame, "03 01 0024 0a000001 00000000 0000 00 00");
    put(frame, "00000005 01 000013 000a 0028 00000000 00000000");
    seal(frame, ospf + 12, ospf, 36, pseudo(flow_of(version6), OSPF, 36));
    put_many(frame, trailer, 0x11, 3);
    return frame;
}

static void test_ospf3(void) {
    for (int version6 = 0; version6 < 2; version6++)
        expect_covered(start_ospf3(version6, 0), version6, "ospf", 36,
                       "OSPFv3 with a pseudo-header");
    struct frame *frame = start_ospf3(true, 20);
    uint32_t ospf = frame->size - 56;
    expect(frame, "ospf good", "OSPFv3: its own length is that of the pseudo-header");
    set16(frame, ospf + 12, 0);
    expect(frame, "ospf absent", "OSPFv3 with an authentication trailer has no checksum");
    frame = start_ospf3(true, 0);
    set16(frame, ospf + 12, 0);
    expect(frame, "ospf bad", "OSPFv3 without a trailer must have a checksum");
}

static void test_eigrp(void) {
    for (int version6 = 0; version6 < 2; version6++) {
        struct frame *frame = start_ip(version6, EIGRP, 20 + 12);
        uint32_t eigrp = put(frame, "02 05 0000 00000000 00000000 00000000 00000001");
        put(frame, "0001 000c 010001000000 000f");
        seal(frame, eigrp + 2, eigrp, 32, oracle_start(0));
        expect_covered(frame, version6, "eigrp", 32, "EIGRP without a pseudo-header");
    }
}

static void test_rsvp(void) {
    struct frame *frame = start_ip(false, RSVP, 20 + 2);
    uint32_t rsvp = put(frame, "10 01 0000 3f 00 0014 000c 0101 c6336407 11 00 1f90");
    seal(frame, rsvp + 2, rsvp, 20, oracle_start(0));
    expect_covered(frame, false, "rsvp", 20, "RSVP");
    put(frame, "abcd");
    expect(frame, "ip good, rsvp good", "RSVP covers its own length");
    set16(frame, rsvp + 6, 23);
    expect(frame, "ip good, rsvp unverifiable/malformed", "RSVP length beyond the packet");
    set16(frame, rsvp + 6, 3);
    expect(frame, "ip good, rsvp unverifiable/malformed", "RSVP length without its checksum");
    set16(frame, rsvp + 2, 0);
    expect(frame, "ip good, rsvp unverifiable/malformed", "RSVP 0 is absent only if it is covered");
    set16(frame, rsvp + 6, 20);
    expect(frame, "ip good, rsvp absent", "RSVP 0 is absent");
}

/* --- PIM --- */

static void test_pim(void) {
    struct frame *frame = start_ip(false, PIM, 20);
    uint32_t pim = put(frame, "20 00 0000 0001 0002 0069 0014 0004 12345678 0013");
    seal(frame, pim + 2, pim, 20, oracle_start(0));
    expect_covered(frame, false, "pim", 20, "PIM Hello");
    frame = start_ip(true, PIM, 20);
    pim = put(frame, "20 00 0000 0001 0002 0069 0014 0004 12345678 0013");
    seal(frame, pim + 2, pim, 20, pseudo(&flow6, PIM, 20));
    expect_covered(frame, true, "pim", 20, "PIM Hello with a pseudo-header");
}

/* Returns a Register message with a packet; the sum covers `covered` bytes, or, if 0, all bytes. */
static struct frame *start_register(bool version6, const char *flags, uint32_t covered) {
    uint32_t size = 8 + (version6 ? 40 : 20) + 23;
    struct frame *frame = start_ip(version6, PIM, size);
    uint32_t pim = put(frame, "21 00 0000");
    put(frame, flags);
    put_inner(frame, version6);
    if (!covered)
        covered = size;
    seal(frame, pim + 2, pim, covered, version6 ? pseudo(&flow6, PIM, covered) : oracle_start(0));
    return frame;
}

static void test_pim_register_covers_8_bytes(void) {
    static const char *const inner[] = {"pim good, ip good, tcp good", "pim good, tcp good"};
    static const char *const bad[] = {"pim bad, ip good, tcp bad", "pim bad, tcp bad"};
    static const char *const only[] = {"pim good, ip good, tcp bad", "pim good, tcp bad"};
    for (int version6 = 0; version6 < 2; version6++) {
        struct frame *frame = start_register(version6, "00000000", 8);
        expect_ip(frame, version6, inner[version6], "PIM Register covers 8 bytes,");
        frame->bytes[frame->size - 1] ^= 1;
        expect_ip(frame, version6, only[version6], "the packet in a Register is not covered,");
        struct result result = check(frame);
        tap_ok(TAP_EQ(result.sums[result.count - (version6 ? 2 : 3)].cover_size, 8),
               "the cover has 8 bytes");

        frame = start_register(version6, "00000000", 0);
        expect_ip(frame, version6, inner[version6],
                  "PIM Register that covers everything is good too,");
        uint32_t good8 =
            get16(start_register(version6, "00000000", 8), 14 + 20 + version6 * 20 + 2);
        frame = start_register(version6, "00000000", 0);
        frame->bytes[frame->size - 1] ^= 1;
        expect_ip(frame, version6, bad[version6], "PIM Register that verifies neither way,");
        result = check(frame);
        const struct carry_packet_sum *sum = &result.sums[version6 ? 0 : 1];
        tap_ok(TAP_EQ(sum->expected, good8) && TAP_EQ(sum->cover_size, 8),
               "the expected value covers 8 bytes");
    }
    expect(start_register(false, "40000000", 8), "ip good, pim good",
           "the header in a Null-Register has no content");
    expect(start_register(false, "bfffffff", 8), "ip good, pim good, ip good, tcp good",
           "no other bit marks a Null-Register");
    struct frame *frame = start_ip(false, PIM, 8 + 20);
    uint32_t pim = put(frame, "21 00 0000 40000000"), shown = put_ip(frame, PIM, 0);
    seal(frame, pim + 2, pim, 8, oracle_start(0));
    expect(frame, "ip good, pim good, ip good", "the header in a Null-Register");
    frame->bytes[shown + 12] ^= 1;
    expect(frame, "ip good, pim good, ip bad", "damage of the header in a Null-Register is found");
    set16(frame, shown + 10, 0);
    expect(frame, "ip good, pim good", "the header in a Null-Register may lack a sum");
    frame = start_ip(false, PIM, 8 + 40);
    pim = put(frame, "21 00 0000 40000000"), put_ip(frame, PIM, 20);
    put_many(frame, 20, 0x31, 7);
    seal(frame, pim + 2, pim, 8, oracle_start(0));
    expect(frame, "ip good, pim good", "a header with a content is not that of a Null-Register");
    frame = start_register(false, "00000000", 0);
    frame->wire = frame->size;
    frame->size = 14 + 20 + 12;
    expect(frame, "ip good, pim unverifiable/snaplen, ip unverifiable/snaplen",
           "a cut PIM Register that covers more than its 8 bytes");
}

/* --- VRRP and CARP --- */

static struct frame *start_vrrp(bool version6, const char *first_bytes, bool with_pseudo) {
    struct frame *frame = start_ip(version6, VRRP, version6 ? 24 : 12);
    uint32_t vrrp = put(frame, first_bytes);
    put(frame, version6 ? DST6 : DST4);
    uint32_t size = frame->size - vrrp;
    seal(frame, vrrp + 6, vrrp, size,
         with_pseudo ? pseudo(flow_of(version6), VRRP, size) : oracle_start(0));
    return frame;
}

static void test_vrrp(void) {
    static const char version2[] = "21 01 64 01 00 01 0000", version3[] = "31 01 64 01 0064 0000";
    expect_covered(start_vrrp(false, version2, false), false, "vrrp", 12, "VRRPv2");
    expect(start_vrrp(false, version2, true), "ip good, vrrp bad", "VRRPv2 has no pseudo-header");
    expect_covered(start_vrrp(true, version3, true), true, "vrrp", 24, "VRRPv3");
    expect(start_vrrp(true, version3, false), "vrrp bad", "VRRPv3 over IPv6 has a pseudo-header");
    expect_covered(start_vrrp(false, version3, true), false, "vrrp", 12,
                   "VRRPv3 with a pseudo-header");
    expect_covered(start_vrrp(false, version3, false), false, "vrrp", 12,
                   "VRRPv3 without a pseudo-header");
    uint32_t good = get16(start_vrrp(false, version3, true), 14 + 20 + 6);
    struct frame *frame = start_vrrp(false, version3, true);
    set16(frame, 14 + 20 + 6, 0x1234);
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[1].expected, good) && TAP_TRUE(result.sums[1].pseudo),
           "the expected value for VRRPv3 includes the pseudo-header");

    frame = start_ip(false, VRRP, 36);
    uint32_t carp = put(frame, "21 01 00 07 00 01 0000 0102030405060708");
    put_many(frame, 20, 0x41, 11);
    seal(frame, carp + 6, carp, 36, oracle_start(0));
    expect_covered(frame, false, "vrrp", 36, "CARP, under the number of VRRP");
}

/* --- PGM, Mobility, HIP --- */

static void test_pgm_zero(void) {
    for (unsigned type = 0; type < 16; type++) {
        struct frame *frame = start_ip(false, PGM, 24);
        uint32_t pgm = put(frame, "1389 138a 00 00 0000 010203040506 0004 00000001 00000000");
        frame->bytes[pgm + 4] = (uint8_t)type;
        seal(frame, pgm + 6, pgm, 24, oracle_start(0));
        expect(frame, "ip good, pgm good", "PGM type %u", type);
        set16(frame, pgm + 6, 0);
        bool is_data = type == 4 || type == 5;
        expect(frame, is_data ? "ip good, pgm illegal" : "ip good, pgm absent",
               "PGM type %u without a checksum", type);
    }
    struct frame *frame = start_ip(false, PGM, 25);
    uint32_t pgm = put(frame, "1389 138a 04 00 0000 010203040506 0001 00000001 00000000 61");
    seal(frame, pgm + 6, pgm, 25, oracle_start(0));
    expect_covered(frame, false, "pgm", 25, "PGM");
}

static void test_mobility(void) {
    struct frame *frame = start_ip(true, MIPV6, 16 + 23);
    uint32_t mobility = put(frame, "06 01 05 00 0000 0001 c000 0003 01 02 0000");
    seal(frame, mobility + 4, mobility, 16, pseudo(&flow6, MIPV6, 16));
    put_tcp(frame, &flow6, 3);
    expect(frame, "mipv6 good, tcp good", "Mobility covers itself, and a header may follow");
    frame->bytes[mobility + 15] ^= 1;
    expect(frame, "mipv6 bad, tcp good", "Mobility: its last byte is covered");
    frame->bytes[mobility + 1] = 7;
    expect(frame, "mipv6 unverifiable/malformed", "Mobility longer than the packet");

    frame = start_ip(true, 60, 24 + 16);
    put(frame, "87 02 0102 0000 c910" LAST6);
    mobility = put(frame, "3b 01 05 00 0000 0001 c000 0003 01 02 0000");
    const struct flow home = {LAST6, DST6};
    seal(frame, mobility + 4, mobility, 16, pseudo(&home, MIPV6, 16));
    expect(frame, "mipv6 good", "Mobility: the home address is the pseudo-header's source");

    frame = start_ip(false, MIPV6, 16);
    put(frame, "3b 01 05 00 0000 0001 c000 0003 01 02 0000");
    expect(frame, "ip good", "there is no mobility header over IPv4");
}

static void test_hip(void) {
    for (int version6 = 0; version6 < 2; version6++) {
        struct frame *frame = start_ip(version6, HIP, 40 + 8);
        uint32_t hip = put(frame, "3b 05 01 21 0000 0000");
        put_many(frame, 40, 0x51, 9);
        seal(frame, hip + 4, hip, 48, pseudo(flow_of(version6), HIP, 48));
        expect_covered(frame, version6, "hip", 48, "HIP with the pseudo-header of either IP");
        frame->bytes[hip + 1] = 6;
        expect_ip(frame, version6, "hip unverifiable/malformed", "HIP longer than the packet");
    }
}

/* --- All of them --- */

/* Tests random bytes of random size for each protocol: reads remain inside the frame. */
static void test_noise(void) {
    static const uint8_t protocols[] = {SCTP, DCCP, RSVP, EIGRP, OSPF, PIM, VRRP, PGM, HIP, MIPV6};
    bool ok = true;
    rng_restart();
    for (int round = 0; round < 20000; round++) {
        uint32_t size = (uint32_t)rng_below(80);
        struct frame *frame = start_ip(round & 1, protocols[rng_below(sizeof protocols)], size);
        uint32_t content = frame->size;
        for (uint32_t i = 0; i < size; i++)
            put_many(frame, 1, (uint8_t)(rng_below(2) ? rng_below(8) : rng_next()), 0);
        if (size)
            frame->bytes[content] = (uint8_t)(rng_below(2) ? 2 + rng_below(2) : 0x21);
        frame->wire = frame->size;
        struct result result = check_cut(frame, frame->size - (uint32_t)rng_below(8));
        ok = ok && TAP_TRUE(repairs(frame, &result));
    }
    tap_ok(ok, "in random bytes, storing the expected value makes bad sums good");
}

int main(void) {
    test_sctp_is_crc32c();
    test_quoted_sctp();
    test_sctp_without_room();
    test_sctp_is_filled_in();
    test_sctp_with_adler32();
    test_adler32_is_spared();
    test_sctp_cut();
    test_sctp_in_udp();
    test_udp_zero_around_sctp();
    test_dccp_coverage();
    test_ospf2_skips_its_authentication();
    test_ospf2_lengths();
    test_ospf3();
    test_eigrp();
    test_rsvp();
    test_pim();
    test_pim_register_covers_8_bytes();
    test_vrrp();
    test_pgm_zero();
    test_mobility();
    test_hip();
    test_noise();
    return tap_done();
}
