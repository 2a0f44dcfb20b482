/* SPDX-License-Identifier: MIT */
/* Tests the packet walk through tunnels: GRE, Ethernet in IP, and tunnels over UDP. */
#include <carry/packet.h>
#include <carry/sum.h>

#include <string.h>

#include "harness/frame.h"
#include "harness/rng.h"
#include "harness/tap.h"

enum { GRE = 47 };

/* Offsets in the frames below. */
enum { IP_AT = 14, CONTENT4_AT = 34, CONTENT6_AT = 54 };

/* --- Making tunnels --- */

/* Starts a frame with Ethernet and IP for any content; close_ip() sets IP's length and sum. */
static struct frame *start_ip(bool version6, uint8_t protocol) {
    struct frame *frame = start(version6 ? ETHERNET6 : ETHERNET4);
    if (version6)
        put_ipv6(frame, protocol, 0);
    else
        put_ip(frame, protocol, 0);
    return frame;
}

static void close_ip(struct frame *frame) {
    if (frame->bytes[IP_AT] >> 4 == 6) {
        set16(frame, IP_AT + 4, frame->size - CONTENT6_AT);
        return;
    }
    set16(frame, IP_AT + 2, frame->size - IP_AT);
    seal_ip(frame, IP_AT);
}

/* Like start_ip(), with UDP from a client's port, and a header as its content. */
static struct frame *start_udp(bool version6, uint16_t port, const char *header) {
    struct frame *frame = start_ip(version6, UDP);
    uint32_t udp = put(frame, "c350 0000 0000 0000");
    set16(frame, udp + 2, port);
    put(frame, header);
    return frame;
}

static uint32_t udp_at(const struct frame *frame) {
    return frame->bytes[IP_AT] >> 4 == 6 ? CONTENT6_AT : CONTENT4_AT;
}

static void seal_udp(struct frame *frame) {
    uint32_t udp = udp_at(frame), size = frame->size - udp;
    const struct flow *flow = udp == CONTENT6_AT ? &flow6 : &flow4;
    seal(frame, udp + 6, udp, size, pseudo(flow, UDP, size));
}

static void close_udp(struct frame *frame) {
    set16(frame, udp_at(frame) + 4, frame->size - udp_at(frame));
    close_ip(frame);
    seal_udp(frame);
}

/* Returns a frame of a tunnel over UDP and IPv4: `header`, and then a packet of IPv4. */
static struct frame *tunnel(uint16_t port, const char *header) {
    struct frame *frame = start_udp(false, port, header);
    put_inner(frame, false);
    close_udp(frame);
    return frame;
}

static struct frame *tunnel6(uint16_t port, const char *header) {
    struct frame *frame = start_udp(false, port, header);
    put_inner(frame, true);
    close_udp(frame);
    return frame;
}

static struct frame *gre(const char *header) {
    struct frame *frame = start_ip(false, GRE);
    put(frame, header);
    put_inner(frame, false);
    close_ip(frame);
    return frame;
}

/* Stores GRE's checksum. */
static void seal_gre(struct frame *frame) {
    seal(frame, CONTENT4_AT + 4, CONTENT4_AT, frame->size - CONTENT4_AT, oracle_start(0));
}

#define INNER4      "ip good, tcp good"
#define THROUGH     "ip good, udp good, " INNER4
#define THROUGH6    "ip good, udp good, tcp good"
#define NOT_THROUGH "ip good, udp good"

/* --- GRE --- */

static void test_gre_fields(void) {
    expect(gre("0000 0800"), "ip good, " INNER4, "GRE");
    expect(gre("2000 0800 00000007"), "ip good, " INNER4, "GRE with a key");
    expect(gre("1000 0800 00000001"), "ip good, " INNER4, "GRE with a sequence number");
    expect(gre("3000 0800 00000007 00000001"), "ip good, " INNER4,
           "GRE with a key and a sequence number");
    expect(gre("0002 0800"), "ip good", "GRE of version 2 ends the walk");
    expect(gre("0000 0801"), "ip good", "GRE of an unknown type");

    struct frame *frame = gre("b000 0800 0000 0000 00000007 00000001");
    seal_gre(frame);
    expect(frame, "ip good, gre good, " INNER4, "GRE with a checksum, a key and a sequence number");
    frame->bytes[frame->size - 1] ^= 1;
    expect(frame, "ip good, gre bad, ip good, tcp bad", "GRE's sum covers the packet inside");
    put(frame, "00ff");
    close_ip(frame);
    seal_gre(frame);
    expect(frame, "ip good, gre good, ip good, tcp bad",
           "GRE's sum covers the bytes after the packet");
    set16(frame, CONTENT4_AT + 4, 0);
    expect(frame, "ip good, gre bad, ip good, tcp bad", "GRE 0 is an ordinary sum");
}

/* Tests GRE with types that manufacturers define. */
static void test_gre_types_of_makers(void) {
    expect(gre("0000 8909 0800 0101 0001 0000"), "ip good, " INNER4,
           "Cisco MetaData: the type of the content is first");
    expect(gre("0000 8909 0101 0001 0064 0800"), "ip good, " INNER4,
           "Cisco MetaData: the type of the content is last, as in Ethernet");
    expect(gre("0000 8909 86dd 0101 0001 0000"), "ip good", "Cisco MetaData with another type");
    expect(gre("0000 883e"), "ip good, " INNER4, "WCCP version 1");
    expect(gre("0000 883e 00000000"), "ip good, " INNER4, "WCCP version 2");
    expect(gre("0000 883e 80010064"), "ip good, " INNER4, "WCCP version 2 with a service");
    expect(gre("0000 883e 00000000 00"), "ip good", "WCCP with neither IPv4 nor IPv6");
    static const char *const aruba[] = {"0000 8200", "0000 8210", "0000 8300", "0000 8370"};
    for (size_t i = 0; i < sizeof aruba / sizeof *aruba; i++) {
        struct frame *frame = start_ip(false, GRE);
        put(frame, aruba[i]);
        put(frame, "0801 2c00 020000000001 020000000002 020000000003 1000 aaaa03 000000 0800");
        put_inner(frame, false);
        close_ip(frame);
        expect(frame, "ip good, " INNER4, "IEEE 802.11 in Aruba's form: %s", aruba[i]);
        set16(frame, CONTENT4_AT + 2, i & 1 ? 0x8380 : 0x8201);
        expect(frame, "ip good", "another type of Aruba's");
    }
}

static void test_gre_source_routes(void) {
    struct frame *frame = gre("c000 0800 0000 0000 0800 00 04 c0000201 0000 00 00");
    seal_gre(frame);
    expect(frame, "ip good, gre good, " INNER4, "a source route in GRE; its sum covers the route");
    expect(gre("4000 0800 0000 0004 0000 00 00"), "ip good, " INNER4,
           "a source route in GRE without a sum: its field is present");
    expect(gre("7000 0800 0000 0000 00000007 00000001 0800 04 08 c0000201 c6336407"
               "fffe 00 02 fde8 0000 00 00"),
           "ip good, " INNER4, "two routes after a key and a sequence number");
    expect(gre("4000 0800 0000 0000 0000 00 04 c0000201 0800 00 00 0000 00 00"), "ip good, " INNER4,
           "only an empty route for no family is the last");
    expect(gre("4000 0800 0000 0000 0800 00 04 c0000201"), "ip good", "routes without an end");
    expect(gre("4000 0800 0000 0000 0800 00 ff c0000201 0000 00 00"), "ip good",
           "a route that extends beyond the packet");
    frame = start_ip(false, GRE);
    put(frame, "4000 0800 0000 0000");
    for (int i = 0; i < 10000; i++)
        put(frame, "0800 00 00");
    close_ip(frame);
    expect(frame, "ip good", "10,000 routes without an end");
}

static void test_gre_over_what_is_outside(void) {
    struct frame *frame = start_ip(true, GRE);
    put(frame, "0000 86dd");
    put_inner(frame, true);
    close_ip(frame);
    expect(frame, "tcp good", "GRE from IPv6 to IPv6");

    frame = start_ip(false, GRE);
    put(frame, "8000 0800 0000 0000");
    put_ip(frame, GRE, 4 + 43);
    put(frame, "0000 0800");
    put_inner(frame, false);
    close_ip(frame);
    seal_gre(frame);
    expect(frame, "ip good, gre good, ip good, " INNER4, "GRE in GRE");

    frame = gre("8000 0800 0000 0000");
    put_many(frame, 5, 0xff, 1);
    seal_gre(frame);
    expect(frame, "ip good, gre bad, " INNER4, "GRE's sum covers no padding of the frame");

    frame = gre("8000 0800 0000 0000");
    set16(frame, IP_AT + 6, 0x2000);
    seal_ip(frame, IP_AT);
    expect(frame, "ip good, gre unverifiable/fragment, ip good, tcp good",
           "GRE in a first fragment: a complete packet is judged");
    frame->size -= 5;
    close_ip(frame);
    expect(frame, "ip good, gre unverifiable/fragment, ip good, tcp unverifiable/fragment",
           "GRE in a first fragment: a packet that continues in the next one is not judged");
}

static void test_gre_version_1(void) {
    /* EoIP of MikroTik has the layout of PPTP: the size of the payload, then a number. */
    struct frame *frame = start_ip(false, GRE);
    put(frame, "2001 6400 0000 0700" ETHERNET4);
    put_inner(frame, false);
    set16(frame, CONTENT4_AT + 4, 14 + 43);
    put(frame, "ffff");
    close_ip(frame);
    expect(frame, "ip good, " INNER4, "EoIP");
    set16(frame, CONTENT4_AT + 4, 14 + 42);
    expect(frame, "ip good, ip good, tcp unverifiable/length",
           "EoIP whose payload ends before TCP");
    set16(frame, CONTENT4_AT + 4, 14 + 43 + 3);
    expect(frame, "ip good", "EoIP whose payload extends beyond the packet");
    set16(frame, CONTENT4_AT + 4, 0);
    expect(frame, "ip good", "EoIP with a payload of 0 bytes");
    set16(frame, CONTENT4_AT + 4, 14 + 43);
    set16(frame, CONTENT4_AT, 0x0001);
    expect(frame, "ip good", "GRE version 1 without a key");
    set16(frame, CONTENT4_AT, 0xa001);
    expect(frame, "ip good", "GRE version 1 with a checksum");
}

static void test_pptp(void) {
    struct frame *frame = gre("3081 880b 002f 0006 00000001 00000001 ff03 0021");
    expect(frame, "ip good, " INNER4, "PPTP");
    expect(gre("3001 880b 002d 0006 00000001 0021"), "ip good, " INNER4,
           "PPTP, nothing to acknowledge, no HDLC");
    expect(gre("2081 880b 0000 0006 00000001 0021"), "ip good", "PPTP that only acknowledges");
}

static void test_gre_types(void) {
    expect(gre("0000 8847 00001140"), "ip good, " INNER4, "GRE with MPLS");
    expect(gre("0000 6558" ETHERNET4), "ip good, " INNER4, "GRE with Ethernet");
    expect(gre("0000 88be" ETHERNET4), "ip good, " INNER4, "ERSPAN type I");
    expect(gre("1000 88be 00000001 10000000 00000000" ETHERNET4), "ip good, " INNER4,
           "ERSPAN type II");
    expect(gre("1000 88be 00000001 20000000 00000000" ETHERNET4), "ip good",
           "ERSPAN type III in the place of type II");
    expect(gre("1000 22eb 00000001 20000000 00000000 00000000" ETHERNET4), "ip good, " INNER4,
           "ERSPAN type III");
    expect(gre("1000 22eb 00000001 20000000 00000000 00000001 5000000000000000" ETHERNET4),
           "ip good, " INNER4, "ERSPAN type III with a platform's header");
    expect(gre("1000 22eb 00000001 20000000 00000000 00000800"), "ip good, " INNER4,
           "ERSPAN type III with IP");
    expect(gre("1000 22eb 00000001 20000000 00000000 00000400" ETHERNET4), "ip good",
           "ERSPAN type III with neither of them");
    expect(gre("1000 22eb 00000001 30000000 00000000 00000000" ETHERNET4), "ip good",
           "ERSPAN of an unknown type");
}

/* --- VXLAN and Geneve --- */

static void test_vxlan(void) {
    static const uint16_t ports[] = {4789, 4790, 8472};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
        expect(tunnel(ports[i], "08000000 00002a00" ETHERNET4), THROUGH, "VXLAN to port %u",
               ports[i]);
    struct frame *frame = tunnel(50000, "08000000 00002a00" ETHERNET4);
    expect(frame, NOT_THROUGH, "VXLAN to another port");
    set16(frame, CONTENT4_AT, 4789);
    seal_udp(frame);
    expect(frame, THROUGH, "VXLAN from its port");

    expect(tunnel(4789, "88480007 00002a00" ETHERNET4), THROUGH, "VXLAN with a group policy");
    expect(tunnel(4790, "0c000001 00002a00"), THROUGH, "VXLAN-GPE with IPv4");
    expect(tunnel6(4790, "0c000002 00002a00"), THROUGH6, "VXLAN-GPE with IPv6");
    expect(tunnel(4790, "0c000003 00002a00" ETHERNET4), THROUGH, "VXLAN-GPE with Ethernet");
    expect(tunnel(4790, "0c000004 00002a00 0fc20201 000001ff"), THROUGH, "VXLAN-GPE with NSH");
    expect(tunnel(4790, "0c000005 00002a00 00001140"), THROUGH, "VXLAN-GPE with MPLS");
    expect(tunnel(4790, "07000001 00002a00"), THROUGH, "VXLAN-GPE without an identifier");
    expect(tunnel(4790, "08000001 00002a00"), THROUGH, "VXLAN-GPE without its flag");

    static const char *const others[] = {
        "00000000 00002a00" ETHERNET4, "80000000 00002a00" ETHERNET4, "04000000 00002a01" ETHERNET4,
        "f4000006 00002a00" ETHERNET4, "0c000006 00002a00",           "0c010001 00002a00",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(tunnel(4789, others[i]), NOT_THROUGH, "no VXLAN: %.8s", others[i]);
}

/*
 * Receivers ignore reserved bits (RFC 7348, section 5), but other traffic on the port has them too.
 */
static void test_vxlan_with_reserved_bits(void) {
    static const char *const reserved[] = {
        "18000000 00002a00" ETHERNET4, "48000000 00002a00" ETHERNET4,
        "08010000 00002a00" ETHERNET4, "08000100 00002a00" ETHERNET4,
        "08000006 00002a00" ETHERNET4, "08000000 00002a01" ETHERNET4,
        "88010000 00002a00" ETHERNET4, "08ffffff 00002aff" ETHERNET "8100 0007 0800",
        "8c000000 00002a00" ETHERNET4, "0c000000 00002a01" ETHERNET4,
        "0c000006 00002a00" ETHERNET4, "ff01d1f3 00000b01" ETHERNET4,
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        struct frame *frame = tunnel(4789, reserved[i]);
        expect(frame, THROUGH, "VXLAN with reserved bits: %.17s", reserved[i]);
        put(frame, "00000000");
        close_udp(frame);
        expect(frame, NOT_THROUGH, "not VXLAN: IP does not fill the frame");
    }
    expect(tunnel6(4789, "08010000 00002a00" ETHERNET6), THROUGH6,
           "VXLAN with reserved bits and IPv6");
    expect(tunnel(4789, "08010000 00002a00" ETHERNET "0806"), NOT_THROUGH,
           "not VXLAN: no IP in it");
    expect(tunnel(4789, "08010000 00002a00" ETHERNET6), NOT_THROUGH,
           "not VXLAN: IP of another version");
    struct frame *frame = start_udp(false, 4789, "08010000 00002a00" ETHERNET4);
    put_ip(frame, TCP, 20);
    put_tcp(frame, &flow4, 0);
    put(frame, "000000000000");
    close_udp(frame);
    expect(frame, THROUGH, "VXLAN with reserved bits: the shortest frame is padded");
    put(frame, "00");
    close_udp(frame);
    expect(frame, NOT_THROUGH, "not VXLAN: a longer frame is padded");
}

static void test_geneve(void) {
    expect(tunnel(6081, "0000 6558 00002a00" ETHERNET4), THROUGH, "Geneve with Ethernet");
    expect(tunnel(6081, "0000 0800 00002a00"), THROUGH, "Geneve with IPv4");
    expect(tunnel6(6081, "0240 86dd 00002a00 0102 00 01 deadbeef"), THROUGH6,
           "Geneve with an option, and IPv6");
    expect(tunnel(6081, "0080 0800 00002a00"), THROUGH, "Geneve's control flag");
    expect(tunnel(6081, "4000 0800 00002a00"), NOT_THROUGH, "Geneve of version 1");
    expect(tunnel(6081, "3f00 0800 00002a00"), NOT_THROUGH,
           "Geneve with options that extend beyond the packet");

    /* Receivers ignore reserved bits (RFC 8926, section 3.4); other traffic on the port has them
     * too. */
    static const char *const reserved[] = {
        "0001 0800 00002a00",
        "0000 0800 00002a01",
        "0120 6558 00002aff 0102 00 00" ETHERNET4,
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        struct frame *frame = tunnel(6081, reserved[i]);
        expect(frame, THROUGH, "Geneve with reserved bits: %.18s", reserved[i]);
        put(frame, "00000000");
        close_udp(frame);
        expect(frame, NOT_THROUGH, "not Geneve: IP does not fill it");
    }
    expect(tunnel6(6081, "0001 86dd 00002a00"), THROUGH6, "Geneve with a reserved bit, and IPv6");
    expect(tunnel(6081, "0001 8847 00002a00 00001140"), NOT_THROUGH, "not Geneve: no IP in it");
}

/* --- GTP, Teredo, LISP --- */

static struct frame *gtp(const char *header, uint32_t fixed_size) {
    struct frame *frame = tunnel(2152, header);
    set16(frame, CONTENT4_AT + 8 + 2, frame->size - CONTENT4_AT - 8 - fixed_size);
    seal_udp(frame);
    return frame;
}

static void test_gtp(void) {
    expect(gtp("30ff 0000 00000001", 8), THROUGH, "GTP-U");
    expect(gtp("32ff 0000 00000001 0001 00 55", 8), THROUGH, "GTP-U with a sequence number");
    expect(gtp("31ff 0000 00000001 0000 07 55", 8), THROUGH, "GTP-U with an N-PDU number");
    expect(gtp("34ff 0000 00000001 0000 00 85 01 1009 c0 02 0102030405 00", 8), NOT_THROUGH,
           "GTP-U with an extension header that is cut");
    expect(gtp("34ff 0000 00000001 0000 00 85 01 1009 c0 02 010203040506 00", 8), THROUGH,
           "GTP-U with two extension headers");
    expect(gtp("34ff 0000 00000001 0000 00 00", 8), THROUGH, "GTP-U with none of these fields");
    expect(gtp("34ff 0000 00000001 0000 00 85 00 1009 00", 8), NOT_THROUGH,
           "GTP-U with an extension header of 0 bytes");
    expect(gtp("1eff 0000 0000 0001 00ffffff 0123456789abcdef", 20), THROUGH, "GTP version 0");
    expect(gtp("20ff 0000 00000001", 8), NOT_THROUGH, "GTP'");
    expect(gtp("50ff 0000 00000001", 8), NOT_THROUGH, "GTP version 2");
    expect(gtp("30fe 0000 00000001", 8), NOT_THROUGH, "GTP-U without a user packet");
    expect(gtp("30ff 0000 00000001", 9), NOT_THROUGH, "GTP-U of another length");
    expect(gtp("1eff 0000 0000 0001 00ffffff 0123456789abcdef", 8), NOT_THROUGH,
           "GTP version 0 of another length");

    struct frame *frame = gtp("30ff 0000 00000001", 8);
    frame->bytes[CONTENT4_AT + 16] = 0x55;
    seal_udp(frame);
    expect(frame, NOT_THROUGH, "GTP-U with neither IPv4 nor IPv6");
}

/* Sessions of type Ethernet carry frames without their FCS. */
static void test_gtp_with_ethernet(void) {
    static const char *const headers[] = {
        "30ff 0000 00000001" ETHERNET4,
        "34ff 0000 00000001 0000 00 85 01 1009 00" ETHERNET4,
        "34ff 0000 00000001 0000 00 85 01 1009 00" ETHERNET "8100 0007 0800",
        "30ff 0000 00000001 484752000001 020000000002 0800",
        "30ff 0000 00000001 60452e000001 020000000002 0800",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct frame *frame = gtp(headers[i], 8);
        expect(frame, THROUGH, "Ethernet in GTP-U: %s", headers[i]);
        put(frame, "00000000");
        close_udp(frame);
        expect(frame, THROUGH, "Ethernet in GTP-U that is shorter than UDP");
        set16(frame, CONTENT4_AT + 10, get16(frame, CONTENT4_AT + 10) + 4);
        seal_udp(frame);
        expect(frame, NOT_THROUGH, "no Ethernet: IP does not fill the frame");
    }
    static const char *const others[] = {
        "30ff 0000 00000001" ETHERNET "0806",
        "30ff 0000 00000001" ETHERNET6,
        "30ff 0000 00000001 484752000001 020000000002 0806",
        "30ff 0000 00000001 462122000001 020000000002 8892",
        "30ff 0000 00000001 60452e000001 060000000002 88cc",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(gtp(others[i], 8), NOT_THROUGH, "Ethernet without IP in GTP-U: %s", others[i]);

    struct frame *frame = gtp("30ff 0000 00000001", 8);
    set16(frame, CONTENT4_AT + 8 + 8 + 2, 43 + 1);
    seal_ip(frame, CONTENT4_AT + 8 + 8);
    seal_udp(frame);
    expect(frame, "ip good, udp good, ip good, tcp unverifiable/length",
           "IPv4 of another length in GTP-U begins as no Ethernet frame does");
}

/* Receivers ignore the spare bit, but other traffic on the port has it, too. */
static void test_gtp_with_spare_bit(void) {
    static const char *const headers[] = {
        "38ff 0000 00000001",
        "3cff 0000 00000001 0000 00 85 01 1009 00",
        "38ff 0000 00000001" ETHERNET4,
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct frame *frame = gtp(headers[i], 8);
        expect(frame, THROUGH, "GTP-U with its spare bit: %s", headers[i]);
        put(frame, "00000000");
        close_udp(frame);
        set16(frame, CONTENT4_AT + 10, get16(frame, CONTENT4_AT + 10) + 4);
        seal_udp(frame);
        expect(frame, NOT_THROUGH, "not GTP: a spare bit, and IP of another length");
    }
}

/* Receivers obey GTP's length. The inner packet must have the same length. */
static void test_gtp_with_bytes_behind_it(void) {
    static const struct {
        const char *header;
        uint32_t fixed_size;
    } headers[] = {
        {"30ff 0000 00000001", 8},
        {"34ff 0000 00000001 0000 00 85 01 1009 00", 8},
        {"1eff 0000 0000 0001 00ffffff 0123456789abcdef", 20},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        struct frame *frame = gtp(headers[i].header, headers[i].fixed_size);
        put(frame, "deadbeef 00");
        close_udp(frame);
        expect(frame, THROUGH, "GTP that is shorter than UDP: %.4s", headers[i].header);
        set16(frame, CONTENT4_AT + 10, get16(frame, CONTENT4_AT + 10) + 1);
        seal_udp(frame);
        expect(frame, NOT_THROUGH, "not GTP: the inner packet is even shorter");
        set16(frame, CONTENT4_AT + 10, get16(frame, CONTENT4_AT + 10) + 5);
        seal_udp(frame);
        expect(frame, NOT_THROUGH, "not GTP: it is longer than UDP");
    }
}

/* Returns a Teredo packet whose inner packet has the given addresses. */
static struct frame *teredo(const char *header, const char *src, const char *dst) {
    struct frame *frame = start_udp(false, 3544, header);
    put(frame, "60000000 0017 06 40");
    put(frame, src);
    put(frame, dst);
    put_tcp(frame, &(struct flow){src, dst}, 3);
    close_udp(frame);
    return frame;
}

#define TEREDO "20010000413a9e508000f12ab9c82815"
#define LOCAL  "fe800000000000008000f227bec861af"

static void test_teredo(void) {
    expect(teredo("", TEREDO, DST6), THROUGH6, "Teredo");
    expect(teredo("", SRC6, TEREDO), THROUGH6, "Teredo, to a client");
    expect(teredo("", LOCAL, DST6), THROUGH6, "Teredo, before the client has an address");
    expect(teredo("", SRC6, DST6), NOT_THROUGH, "not Teredo: other addresses");
    expect(teredo("0000 0d28 c0000201", TEREDO, DST6), THROUGH6, "Teredo with an origin");
    expect(teredo("0001 00 00 0102030405060708 00", TEREDO, DST6), THROUGH6,
           "Teredo with authentication");
    expect(teredo("0001 02 03 0102 030405 0102030405060708 00 0000 0d28 c0000201", TEREDO, DST6),
           THROUGH6, "Teredo with both");

    struct frame *frame = teredo("", TEREDO, DST6);
    put(frame, "01040000 0000");
    close_udp(frame);
    expect(frame, THROUGH6, "Teredo with a trailer");
    set16(frame, CONTENT4_AT + 8 + 4, 0x17 + 7);
    seal_udp(frame);
    expect(frame, NOT_THROUGH, "not Teredo: a length beyond the datagram");
}

static void test_lisp(void) {
    expect(tunnel(4341, "88112233 000000ff"), THROUGH, "LISP with IPv4");
    expect(tunnel6(4341, "88112233 000000ff"), THROUGH6, "LISP with IPv6");
    struct frame *frame = tunnel(4341, "88112233 000000ff");
    put(frame, "00");
    close_udp(frame);
    expect(frame, NOT_THROUGH, "not LISP: a byte after the packet");
    frame->bytes[CONTENT4_AT + 16] = 0x65;
    close_udp(frame);
    expect(frame, NOT_THROUGH, "not LISP: a packet of another version");
    expect(tunnel(4341, "881122"), NOT_THROUGH, "not LISP: half a header");

    expect(tunnel(4342, "80000000"), THROUGH, "an encapsulated control message of LISP");
    expect(tunnel(4342, "88000000"), NOT_THROUGH, "a secured control message of LISP");
    expect(tunnel(4342, "30000000"), NOT_THROUGH, "another control message of LISP");
}

static void test_mpls(void) {
    expect(tunnel(6635, "00001140"), THROUGH, "MPLS in UDP, one label");
    expect(tunnel6(6635, "00002040 00001140"), THROUGH6, "MPLS in UDP, two labels, IPv6");
    expect(tunnel(6635, "00001040"), NOT_THROUGH, "not MPLS: a stack without bottom");
    struct frame *frame = tunnel(6635, "00001140");
    put(frame, "00");
    close_udp(frame);
    expect(frame, NOT_THROUGH, "not MPLS: a byte after the packet");
}

#define ZEROS8    "0000000000000000"
#define ZEROS32   ZEROS8 ZEROS8 ZEROS8 ZEROS8
#define WLAN_REST "2c00 84802d2b4590 54f201e1b299 10f311eaeec1"
#define SNAP4     "aaaa03 000000 0800"
#define WLAN4     "0801" WLAN_REST "3070" SNAP4
#define SWAPPED4  "0108" WLAN_REST "7630" SNAP4

static void test_capwap(void) {
    expect(tunnel(5247, "00100200 00000000" ETHERNET4), THROUGH, "CAPWAP with Ethernet");
    expect(tunnel(5247, "00100300 e03c0000" WLAN4), THROUGH, "CAPWAP with 802.11");
    expect(tunnel(5247, "00100300 e03c0000" SWAPPED4), THROUGH,
           "CAPWAP with swapped frame control");
    expect(tunnel(5247, "00100300 e03c0000 0188" WLAN_REST "3070 0000" SNAP4), THROUGH,
           "CAPWAP with swapped frame control and QoS");
    expect(tunnel(5247, "00200320 00000000 04bf230000000000" SWAPPED4), THROUGH,
           "CAPWAP with information on the radio");
    static const char *const others[] = {
        "01100300 00000000" WLAN4,
        "00100308 00000000" WLAN4,
        "00100301 00000000" WLAN4,
        "00100300 00000008" WLAN4,
        "00100380 00000008" WLAN4,
        "001003c0 00000008" WLAN4,
        "00100500 00000000" WLAN4,
        "00080300 0108 0000 84802d2b4590 54f201e1b299 10f311eaeec1 7630 aaaa03 000000 0800",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(tunnel(5247, others[i]), NOT_THROUGH, "CAPWAP that is not followed: %.17s",
               others[i]);
    expect(tunnel(5247, "00100300 e03c0000 0801" WLAN_REST "3170" SNAP4), NOT_THROUGH,
           "CAPWAP with a fragment of 802.11");
    expect(tunnel(5247, "00100300 e03c0000 0100" WLAN_REST "3070" SNAP4), NOT_THROUGH,
           "CAPWAP with 802.11 management");
    struct frame *frame = start_udp(false, 5247, "00f80300 00000000" WLAN4);
    close_udp(frame);
    expect(frame, NOT_THROUGH, "a CAPWAP header that extends beyond the datagram");
}

static void test_capwap_fragments(void) {
    expect(tunnel(5247, "00100280 00070000" ETHERNET4), THROUGH,
           "a complete packet in CAPWAP's first fragment");
    struct frame *frame = tunnel(5247, "00100280 00070000" ETHERNET4);
    frame->size -= 5;
    close_udp(frame);
    expect(frame, "ip good, udp good, ip good, tcp unverifiable/fragment",
           "a packet that continues in CAPWAP's next fragment");
    frame->bytes[CONTENT4_AT + 8 + 3] = 0x00;
    frame->bytes[CONTENT4_AT + 8 + 2] = 0x02;
    close_udp(frame);
    expect(frame, "ip good, udp good, ip good, tcp unverifiable/length",
           "a packet that extends beyond CAPWAP without fragments");
}

/* --- Other tunnels --- */

static void test_gre_in_udp(void) {
    expect(tunnel(4754, "0000 0800"), THROUGH, "GRE in UDP");
    expect(tunnel6(4754, "2000 86dd 00000007"), THROUGH6, "GRE in UDP, with a key");
    expect(tunnel(4754, "0000 6558" ETHERNET4), THROUGH, "GRE in UDP, with Ethernet");
    expect(tunnel(4754, "4000 0800 00000000 0000 00 00"), NOT_THROUGH, "GRE in UDP with routes");
    expect(tunnel(4754, "0001 0800"), NOT_THROUGH, "GRE in UDP of another version");
    expect(tunnel(4754, "0000 0801"), NOT_THROUGH, "GRE in UDP of an unknown type");
    expect(tunnel(4754, "000008"), NOT_THROUGH, "GRE in UDP with half a header");
}

static void test_ethernet_in_ip(void) {
    struct frame *frame = start_ip(true, 143);
    put(frame, ETHERNET6);
    put_inner(frame, true);
    close_ip(frame);
    expect(frame, "tcp good", "Ethernet in IPv6");
    frame = start_ip(false, 97);
    put(frame, "3000" ETHERNET4);
    put_inner(frame, false);
    close_ip(frame);
    expect(frame, "ip good, " INNER4, "EtherIP");
    frame->bytes[CONTENT4_AT] = 0x20;
    expect(frame, "ip good", "EtherIP of version 2");
}

static void test_nhrp(void) {
    struct frame *frame = start_ip(false, GRE);
    put(frame, "0000 2001");
    uint32_t nhrp = put(frame, "0001 0800 0000000000 ff 0034 0000 0000 01 01 04 00"
                               "04 04 8000 00000001" SRC4 SRC4 DST4 "00 20 0000 05dc 1c20");
    while (frame->size < nhrp + 0x34)
        put(frame, "00");
    close_ip(frame);
    seal(frame, nhrp + 12, nhrp, 0x34, oracle_start(0));
    expect(frame, "ip good, nhrp good", "NHRP");
    put(frame, "ffffff");
    close_ip(frame);
    expect(frame, "ip good, nhrp good", "bytes after NHRP are not covered");
    frame->bytes[nhrp + 0x33] ^= 1;
    expect(frame, "ip good, nhrp bad", "damaged NHRP");
    frame->bytes[nhrp + 16] = 2;
    expect(frame, "ip good", "NHRP of another version");
    frame->bytes[nhrp + 16] = 1;
    set16(frame, nhrp + 10, 0x38);
    expect(frame, "ip good, nhrp unverifiable/malformed", "NHRP that is longer than its packet");
}

static void test_ayiya(void) {
    static const char *const identity = "42 52 11 29 12345678" SRC6 LOCAL "00000000";
    expect(tunnel6(5072, identity), THROUGH6, "AYIYA with IPv6");
    expect(tunnel(5072, "00 00 01 04 12345678 55"), THROUGH, "AYIYA with IPv4");
    expect(tunnel(5072, "00 00 00 04 12345678 55"), NOT_THROUGH, "AYIYA without an operation");
    expect(tunnel(5072, "f0 00 01 04 12345678 55"), NOT_THROUGH,
           "AYIYA with an identity that extends beyond the frame");
    struct frame *frame = tunnel6(5072, identity);
    put(frame, "00");
    close_udp(frame);
    expect(frame, NOT_THROUGH, "not AYIYA: a byte after the packet");
}

/* --- Mirrors --- */

/* Returns a mirrored frame, with zeros as its frame check sequence. */
static struct frame *omnipeek(const char *header) {
    struct frame *frame = tunnel(5000, header);
    put(frame, "00000000");
    close_udp(frame);
    return frame;
}

static void test_peekremote(void) {
    expect(omnipeek("00ffabcd 02 00000037 00000006" ZEROS32 ZEROS8 "0000" WLAN4), THROUGH,
           "OmniPeek's newer header");
    expect(omnipeek("00ffabcd 02 00000008 00000006" WLAN4), NOT_THROUGH, "a header of 8 bytes");
    expect(omnipeek("00ffabcd 02 ffffffff 00000006" WLAN4), NOT_THROUGH,
           "a header that extends beyond the frame");
    expect(omnipeek("c4 9f 004f 004f 00 00 0000000000000001 0c 06 50 00" WLAN4), THROUGH,
           "OmniPeek's older header");
    expect(omnipeek("c4 9f 0fff 004f 00 00 0000000000000001 0c 06 50 00" WLAN4), THROUGH,
           "OmniPeek's header of a cut frame");
    expect(omnipeek("c4 9f 004e 004f 00 00 0000000000000001 0c 06 50 00" WLAN4), NOT_THROUGH,
           "OmniPeek's header with a captured size above the frame's");
    expect(omnipeek("c4 9f 004f 004e 00 00 0000000000000001 0c 06 50 00" WLAN4), NOT_THROUGH,
           "OmniPeek's header with another size");
}

static void test_aruba_erm(void) {
    expect(tunnel(5555, "5f000000 000f423f 0000004b 0000004b" WLAN4), THROUGH, "Aruba's records");
    expect(tunnel(5555, "5f000000 000f423f 0000004b 000000ff" WLAN4), THROUGH,
           "Aruba's records of cut frames");
    expect(tunnel(5555, "5f000000 000f423f 0000004b 0000004b 0002 06 50" WLAN4), THROUGH,
           "Aruba's records with a radio header");
    expect(tunnel(5555, "5f000000 000f4240 0000004b 0000004b" WLAN4), NOT_THROUGH,
           "Aruba's records with a million microseconds");
    expect(tunnel(5555, "5f000000 000f423f 0000004b 0000004a" WLAN4), NOT_THROUGH,
           "Aruba's records with a captured size above the frame's");
    expect(tunnel(5555, "5f000000 000f423f 0000004a 0000004b" WLAN4), NOT_THROUGH,
           "Aruba's records with another size");
    expect(tunnel(5555, "00 00 0800 69000000" WLAN4), THROUGH, "PPI");
    expect(tunnel(5555, "00 00 0900 02000000 00" WLAN4), THROUGH, "radiotap");
    expect(tunnel(5555, "00ffabcd 02 00000009" WLAN4), THROUGH, "OmniPeek's header");
}

static void test_hp_erm(void) {
    expect(tunnel(7932, "000000010002000300040005" ETHERNET4), THROUGH, "HP's mirror");
    expect(tunnel(7932, "000000010002000300040005" ETHERNET "0806"), NOT_THROUGH,
           "HP's mirror without IP");
    expect(tunnel(7932, "0000000100020003000400" ETHERNET4), NOT_THROUGH,
           "HP's mirror with a header that lacks a byte");
}

static void test_tzsp(void) {
    expect(tunnel(37008, "01 00 0001 01" ETHERNET4), THROUGH, "TZSP with Ethernet");
    expect(tunnel(37008, "01 00 0012 0a 01 ce 00 01" WLAN4), THROUGH, "TZSP with 802.11");
    expect(tunnel(37008, "01 03 0001 01" ETHERNET4), NOT_THROUGH, "TZSP's configuration");
}

static void test_zero_around_mirrors(void) {
    static const uint16_t ports[] = {5000, 5555, 7932, 37008};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct frame *frame = start_udp(true, ports[i], "0102030405060708");
        close_udp(frame);
        set16(frame, CONTENT6_AT + 6, 0);
        expect(frame, "udp illegal", "UDP 0 over IPv6 around a mirror, port %u", ports[i]);
    }
}

/* Appends a header of CAPWAP, and two packets in one frame of 802.11 (an A-MSDU). */
static void put_aggregate(struct frame *frame) {
    put(frame, "00100300 e03c0000 8801" WLAN_REST "3070 8000");
    put(frame, ETHERNET "0033" SNAP4);
    put_inner(frame, false);
    put_many(frame, -(14 + 0x33) & 3, 0, 0);
    put(frame, ETHERNET "0033" SNAP4);
    put_inner(frame, false);
}

/* Both packets of an A-MSDU are in the same tunnel. */
static void test_capwap_with_aggregates(void) {
    struct frame *frame = start_udp(false, 5247, "");
    put_aggregate(frame);
    close_udp(frame);
    expect(frame, THROUGH ", " INNER4, "CAPWAP with an A-MSDU");
    const struct carry_packet_options options = {.flags = CARRY_PACKET_NO_TUNNELS};
    const struct carry_frame view = {frame->bytes, frame->size, frame->size, LINK_ETHERNET, 0};
    struct carry_packet_sum sums[CARRY_PACKET_SUMS_MAX];
    tap_ok(TAP_EQ(carry_packet_check(&view, &options, sums, CARRY_PACKET_SUMS_MAX), 2),
           "its packets are not examined if tunnels are excluded");

    frame = start_ip(false, ICMP);
    uint32_t icmp = put(frame, "03 03 0000 00000000"), quoted = frame->size;
    put_ip(frame, UDP, 0);
    put(frame, "c350 147f 0000 0000");
    put_aggregate(frame);
    set16(frame, quoted + 2, frame->size - quoted);
    set16(frame, quoted + 24, frame->size - quoted - 20);
    seal_ip(frame, quoted);
    frame->bytes[frame->size - 1] ^= 1;
    seal(frame, icmp + 2, icmp, frame->size - icmp, oracle_start(0));
    close_ip(frame);
    expect(frame,
           "ip good, icmp good, ip good, udp absent, ip good, tcp good, ip good, "
           "tcp unverifiable/quoted",
           "an error quotes both packets of an A-MSDU");
}

/* The inner A-MSDU ends in bytes that are not a frame. After it, the outer A-MSDU continues. */
static void test_aggregates_within_each_other(void) {
    struct frame *frame = start("8801 2c00 020000000001 020000000002 020000000003 1000 8000");
    frame->linktype = 105;
    uint32_t subframe = put(frame, ETHERNET "0000" SNAP4), ip = frame->size;
    put_ip(frame, UDP, 0);
    put(frame, "c350 147f 0000 0000");
    put_aggregate(frame);
    put(frame, "00000000000000");
    set16(frame, ip + 2, frame->size - ip);
    set16(frame, ip + 24, frame->size - ip - 20);
    seal_ip(frame, ip);
    set16(frame, subframe + 12, frame->size - subframe - 14);
    put_many(frame, -(frame->size - subframe) & 3, 0, 0);
    put(frame, ETHERNET "0033" SNAP4);
    put_inner(frame, false);
    expect(frame, "ip good, udp absent, " INNER4 ", " INNER4 ", " INNER4,
           "an A-MSDU in CAPWAP in an A-MSDU");
}

static void test_l2tp(void) {
    expect(tunnel(1701, "0002 0011 0022 ff03 0021"), THROUGH, "L2TP");
    expect(tunnel6(1701, "0102 0011 0022 0057"), THROUGH6, "L2TP with priority, IPv6, no HDLC");
    expect(tunnel(1701, "0802 0011 0022 0001 0000 ff03 0021"), THROUGH, "L2TP, numbered");
    expect(tunnel(1701, "0202 0011 0022 0003 aabbcc ff03 0021"), THROUGH, "L2TP with an offset");
    expect(tunnel(1701, "0202 0011 0022 ffff ff03 0021"), NOT_THROUGH,
           "L2TP with an offset beyond the end");
    expect(tunnel(1701, "8002 0011 0022 ff03 0021"), NOT_THROUGH, "a control message of L2TP");
    expect(tunnel(1701, "0003 0011 0022 ff03 0021"), NOT_THROUGH, "L2TP version 3");
    expect(tunnel(1701, "0042 0011 0022 ff03 0021"), NOT_THROUGH, "not L2TP: a reserved bit");

    struct frame *frame = tunnel(1701, "4a02 0000 0011 0022 0001 0000 0001 aa ff03 0021");
    uint32_t size = frame->size - CONTENT4_AT - 8;
    set16(frame, CONTENT4_AT + 8 + 2, size);
    seal_udp(frame);
    expect(frame, THROUGH, "L2TP with all fields");
    set16(frame, CONTENT4_AT + 8 + 2, size - 1);
    seal_udp(frame);
    expect(frame, "ip good, udp good, ip good, tcp unverifiable/length",
           "an L2TP message that ends before TCP");
    set16(frame, CONTENT4_AT + 8 + 2, size + 1);
    seal_udp(frame);
    expect(frame, NOT_THROUGH, "an L2TP message that extends beyond UDP");
    set16(frame, CONTENT4_AT + 8 + 2, 14);
    seal_udp(frame);
    expect(frame, NOT_THROUGH, "an L2TP message that ends in its header");
}

/* --- Tunnels that are not followed --- */

/* Frames of L2TPv3 show neither the size of the cookie nor the layer after it. */
static void test_l2tp_version_3_is_left(void) {
    expect(tunnel(1701, "0003 0000 00000007"), NOT_THROUGH, "a session of L2TPv3 over UDP");
    expect(tunnel(1701, "0003 0000 00000007" ETHERNET4), NOT_THROUGH,
           "Ethernet in L2TPv3 over UDP");
    expect(tunnel(1701, "c803 000c 00000007 0000 0000"), NOT_THROUGH, "control messages of L2TPv3");
    static const char *const over_ip[] = {
        "00000007", "00020011 0022 ff03 0021", "00000007" ETHERNET4,
        "00000007 0123456789abcdef 00000000" ETHERNET4, "00000000 c803 000c 00000007 0000 0000"};
    for (size_t i = 0; i < sizeof over_ip / sizeof *over_ip; i++) {
        struct frame *frame = start_ip(false, 115);
        put(frame, over_ip[i]);
        put_inner(frame, false);
        close_ip(frame);
        expect(frame, "ip good", "L2TPv3 over IP: %s", over_ip[i]);
    }
}

/* ESP is encrypted. IKE follows a marker on ESP's port (RFC 3948), and has its own port too. */
static void test_esp_and_ike_in_udp_are_left(void) {
    expect(tunnel(4500, "00000100 00000001"), NOT_THROUGH, "ESP in UDP");
    expect(tunnel(4500, "00000000 0102030405060708 0000000000000000 2120 22 08 00000000 00000020"),
           NOT_THROUGH, "IKE after its marker");
    expect(tunnel(500, "0102030405060708 0000000000000000 2120 22 08 00000000 0000001c"),
           NOT_THROUGH, "IKE");
    struct frame *frame = start_udp(false, 4500, "ff");
    close_udp(frame);
    expect(frame, NOT_THROUGH, "a keepalive for address translation");
    frame = start_udp(false, 4500, "00000100 00000001");
    close_udp(frame);
    set16(frame, CONTENT4_AT + 6, 0);
    expect(frame, "ip good, udp absent", "ESP in UDP without a checksum");
}

/* --- UDP around tunnels --- */

static void test_zero_around_tunnels(void) {
    struct frame *frame = start_udp(true, 4789, "08000000 00002a00" ETHERNET4);
    put_inner(frame, false);
    close_udp(frame);
    expect(frame, "udp good, ip good, tcp good", "VXLAN over IPv6");
    set16(frame, CONTENT6_AT + 6, 0);
    expect(frame, "udp absent, ip good, tcp good", "UDP 0 over IPv6 around a tunnel");
    set16(frame, CONTENT6_AT + 2, 4788);
    expect(frame, "udp illegal", "UDP 0 over IPv6 around anything else");

    frame = tunnel(4789, "08000000 00002a00" ETHERNET4);
    set16(frame, CONTENT4_AT + 6, 0);
    expect(frame, "ip good, udp absent, ip good, tcp good", "UDP 0 over IPv4 around a tunnel");
}

static void test_lengths_around_tunnels(void) {
    struct frame *frame = tunnel(4789, "08000000 00002a00" ETHERNET4);
    uint32_t size = get16(frame, CONTENT4_AT + 4);
    set16(frame, CONTENT4_AT + 4, size - 1);
    set16(frame, CONTENT4_AT + 6, 0);
    expect(frame, "ip good, udp absent, ip good, tcp unverifiable/length",
           "a packet that extends beyond the outer UDP datagram");
    set16(frame, CONTENT4_AT + 4, size + 1);
    expect(frame, "ip good, udp unverifiable/malformed",
           "UDP that extends beyond IP is not entered");
    set16(frame, CONTENT4_AT + 4, 7);
    expect(frame, "ip good, udp unverifiable/malformed", "UDP of 7 bytes is not entered");

    frame = tunnel(4789, "08000000 00002a00" ETHERNET4);
    set16(frame, IP_AT + 6, 0x2000);
    set16(frame, CONTENT4_AT + 4, size + 100);
    seal_ip(frame, IP_AT);
    expect(frame, "ip good, udp unverifiable/fragment, ip good, tcp good",
           "a first fragment with a complete packet of a tunnel");
}

static void test_big_tcp(void) {
    enum { LARGE = 66000 };
    struct frame *frame = start_udp(false, 4789, "08000000 00002a00" ETHERNET6);
    uint32_t ip = put_ipv6(frame, TCP, 0);
    put_tcp(frame, &flow6, LARGE);
    set16(frame, ip + 4, 0);
    set16(frame, IP_AT + 2, 0);
    seal_ip(frame, IP_AT);
    seal_udp(frame);
    expect(frame, THROUGH6, "BIG TCP over VXLAN: all lengths are 0");
}

/* --- Offload --- */

/* With transmit offload, the card completes the inner sum. Only then are the outer sums right. */
static void test_partial_in_tunnels(void) {
    static const char *const headers[] = {"0000 0d28 c0000201", "0001 00 00 0102030405060708 00"};
    for (size_t odd = 0; odd < 2; odd++) {
        struct frame *frame = teredo(headers[odd], TEREDO, DST6);
        uint32_t tcp = frame->size - 23, udp = get16(frame, CONTENT4_AT + 6);
        uint32_t good = get16(frame, tcp + 16);
        uint32_t left = pseudo(&(struct flow){TEREDO, DST6}, TCP, 23).sum;
        set16(frame, tcp + 16, left);
        expect(frame, "ip good, udp partial, tcp partial",
               "UDP is partial until TCP is completed, at an %s offset", odd ? "odd" : "even");
        struct result result = check(frame);
        tap_ok(TAP_EQ(result.sums[1].expected, udp) && TAP_EQ(result.sums[2].expected, good),
               "the expected value of such UDP is the stored one");
        frame->bytes[IP_AT + 8] ^= 1;
        expect(frame, "ip bad, udp partial, tcp partial", "an IP header does not depend on TCP");
        frame->bytes[IP_AT + 8] ^= 1;
        set16(frame, CONTENT4_AT + 6, udp ^ 1);
        expect(frame, "ip good, udp bad, tcp partial", "UDP that would remain bad");
        seal_udp(frame);
        expect(frame, "ip good, udp good, tcp partial",
               "UDP that is right with the present partial sum");
        set16(frame, CONTENT4_AT + 6, udp);
        set16(frame, tcp + 16, left ^ 1);
        expect(frame, "ip good, udp bad, tcp bad", "UDP around a bad sum is bad");
    }

    struct frame *frame = teredo("", TEREDO, DST6);
    set16(frame, frame->size - 23 + 16, pseudo(&(struct flow){TEREDO, DST6}, TCP, 23).sum);
    set16(frame, IP_AT + 6, 0x2000);
    set16(frame, CONTENT4_AT + 4, 60000);
    seal_ip(frame, IP_AT);
    expect(frame, "ip good, udp unverifiable/fragment, tcp partial",
           "a fragment is not judged by the future value of its partial sum");

    frame = gre("8000 0800 0000 0000");
    seal_gre(frame);
    set16(frame, frame->size - 23 + 16, pseudo(&flow4, TCP, 23).sum);
    expect(frame, "ip good, gre partial, ip good, tcp partial",
           "GRE is partial until TCP is completed");
}

/* --- Other traffic on the ports of tunnels --- */

/* Clients may use the port of a tunnel: their traffic is not a tunnel. */
static void test_other_traffic_on_ports_of_tunnels(void) {
    static const uint16_t ports[] = {1701, 2152, 3386, 3544, 4341, 4342, 4754, 4789, 4790, 5000,
                                     5072, 5247, 5555, 6081, 6635, 7932, 8472, 9899, 37008};
    static const char *const dns =
        "1234 8180 0001 0001 0000 0000 03777777 076578616d706c65 03636f6d"
        "00 0001 0001 c00c 0001 0001 0000003c 0004 c0000201";
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        rng_restart();
        int wrong = 0;
        for (int round = 0; round < 20000; round++) {
            struct frame *frame = start_udp(false, ports[i], round & 1 ? dns : "");
            if (round & 1)
                set16(frame, CONTENT4_AT + 8, (uint32_t)rng_next() & 0xffff);
            else
                for (size_t size = 8 + rng_below(80); size; size--)
                    frame->bytes[frame->size++] = (uint8_t)rng_next();
            close_udp(frame);
            wrong += check(frame).count != 2;
        }
        tap_ok(TAP_EQ(wrong, 0), "random bytes and DNS on port %u: %d taken for a tunnel", ports[i],
               wrong);
    }
}

int main(void) {
    test_gre_fields();
    test_gre_types_of_makers();
    test_gre_source_routes();
    test_gre_over_what_is_outside();
    test_gre_version_1();
    test_pptp();
    test_gre_types();
    test_vxlan();
    test_vxlan_with_reserved_bits();
    test_geneve();
    test_gtp();
    test_gtp_with_ethernet();
    test_gtp_with_spare_bit();
    test_gtp_with_bytes_behind_it();
    test_teredo();
    test_lisp();
    test_capwap();
    test_capwap_fragments();
    test_capwap_with_aggregates();
    test_aggregates_within_each_other();
    test_l2tp();
    test_mpls();
    test_l2tp_version_3_is_left();
    test_esp_and_ike_in_udp_are_left();
    test_gre_in_udp();
    test_ethernet_in_ip();
    test_nhrp();
    test_ayiya();
    test_peekremote();
    test_aruba_erm();
    test_hp_erm();
    test_tzsp();
    test_zero_around_mirrors();
    test_zero_around_tunnels();
    test_lengths_around_tunnels();
    test_big_tcp();
    test_partial_in_tunnels();
    test_other_traffic_on_ports_of_tunnels();
    return tap_done();
}
