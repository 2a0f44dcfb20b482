/* SPDX-License-Identifier: MIT */
#include "harness/stacks.h"

#include <string.h>

#include "harness/rng.h"

#define L(id) CARRY_PROTOCOL_##id
#define STACK(name, link, ...)                                                                     \
    {                                                                                              \
        name, {                                                                                    \
            .linktype = link, .count = sizeof((const uint8_t[]){__VA_ARGS__}), .layers = {         \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }

const struct stack stacks[] = {
    STACK("TCP over IPv4", 1, L(ETHERNET), L(IP), L(TCP)),
    STACK("UDP over IPv4", 1, L(ETHERNET), L(IP), L(UDP)),
    STACK("ICMP", 1, L(ETHERNET), L(IP), L(ICMP)),
    STACK("TCP over IPv6", 1, L(ETHERNET), L(IPV6), L(TCP)),
    STACK("UDP over IPv6", 1, L(ETHERNET), L(IPV6), L(UDP)),
    STACK("ICMPv6", 1, L(ETHERNET), L(IPV6), L(ICMPV6)),
    STACK("ICMP over IPv6", 1, L(ETHERNET), L(IPV6), L(ICMP)),
    STACK("a VLAN", 1, L(ETHERNET), L(VLAN), L(IP), L(UDP)),
    STACK("two VLANs", 1, L(ETHERNET), L(VLAN), L(VLAN), L(IPV6), L(TCP)),
    STACK("raw IPv4", 101, L(RAW), L(IP), L(TCP)),
    STACK("raw IPv6", 12, L(RAW), L(IPV6), L(UDP)),
    STACK("IPv4 alone", 228, L(IP), L(UDP)),
    STACK("IPv6 alone", 229, L(IPV6), L(ICMPV6)),
    STACK("cooked", 113, L(SLL), L(IP), L(TCP)),
    STACK("cooked 2", 276, L(SLL2), L(IPV6), L(TCP)),
    STACK("loopback IPv4", 0, L(LOOPBACK), L(IP), L(TCP)),
    STACK("loopback IPv6", 108, L(LOOPBACK), L(IPV6), L(UDP)),
    STACK("IPv4 in IPv4", 1, L(ETHERNET), L(IP), L(IP), L(TCP)),
    STACK("IPv6 in IPv4", 1, L(ETHERNET), L(IP), L(IPV6), L(UDP)),
    STACK("IPv4 in IPv6", 1, L(ETHERNET), L(IPV6), L(IP), L(ICMP)),
    STACK("GRE", 1, L(ETHERNET), L(IP), L(GRE), L(IP), L(TCP)),
    STACK("GRE with Ethernet", 1, L(ETHERNET), L(IPV6), L(GRE), L(ETHERNET), L(VLAN), L(IPV6),
          L(UDP)),
    STACK("VXLAN", 1, L(ETHERNET), L(IP), L(UDP), L(VXLAN), L(ETHERNET), L(IP), L(TCP)),
    STACK("VXLAN over IPv6", 1, L(ETHERNET), L(IPV6), L(UDP), L(VXLAN), L(ETHERNET), L(IPV6),
          L(TCP)),
    STACK("VXLAN with UDP", 1, L(ETHERNET), L(VLAN), L(IP), L(UDP), L(VXLAN), L(ETHERNET), L(IP),
          L(UDP)),
    STACK("VXLAN with ICMP", 1, L(ETHERNET), L(IP), L(UDP), L(VXLAN), L(ETHERNET), L(IP), L(ICMP)),
    STACK("Geneve", 1, L(ETHERNET), L(IP), L(UDP), L(GENEVE), L(ETHERNET), L(IPV6), L(UDP)),
    STACK("Geneve with IP", 1, L(ETHERNET), L(IPV6), L(UDP), L(GENEVE), L(IP), L(TCP)),
    STACK("VXLAN in Geneve", 1, L(ETHERNET), L(IP), L(UDP), L(GENEVE), L(ETHERNET), L(IP), L(UDP),
          L(VXLAN), L(ETHERNET), L(IP), L(TCP)),
    STACK("VXLAN in Geneve with ICMP", 1, L(ETHERNET), L(IP), L(UDP), L(GENEVE), L(ETHERNET),
          L(IPV6), L(UDP), L(VXLAN), L(ETHERNET), L(IP), L(ICMP)),
};
const size_t stacks_count = sizeof stacks / sizeof *stacks;

/* For each protocol: its header, and the offset at which the header announces the next one. */
static const struct header {
    const char *bytes;
    uint8_t size;
    uint8_t announces; /* offset of the number that names the next protocol */
} headers[CARRY_PROTOCOL_COUNT] = {
    [L(ETHERNET)] = {"\x02\0\0\0\0\1\x02\0\0\0\0\2\0\0", 14, 12},
    [L(VLAN)] = {"\x20\x2a\0\0", 4, 2},
    [L(SLL)] = {"\0\0\0\1\0\6\x02\0\0\0\0\2\0\0\0\0", 16, 14},
    [L(SLL2)] = {"\0\0\0\0\0\0\0\7\0\1\0\6\x02\0\0\0\0\2\0\0", 20, 0},
    [L(RAW)] = {"", 0, 0},
    [L(LOOPBACK)] = {"\0\0\0\0", 4, 0},
    [L(IP)] = {"\x45\0\0\0\x12\x34\x40\0\x40\0\0\0\xc0\0\2\1\xc6\x33\x64\7", 20, 9},
    [L(IPV6)] = {"\x60\0\0\0\0\0\0\x40"
                 "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
                 "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2",
                 40, 6},
    [L(TCP)] = {"\0\x50\xc0\1\1\2\3\4\0\0\0\0\x50\x10\xff\xff\0\0\0\0", 20, 0},
    [L(UDP)] = {"\x30\x39\x10\x92\0\0\0\0", 8, 2},
    [L(ICMP)] = {"\x08\0\0\0\0\1\0\2", 8, 0},
    [L(ICMPV6)] = {"\x80\0\0\0\0\1\0\2", 8, 0},
    [L(GRE)] = {"\0\0\0\0", 4, 2},
    [L(VXLAN)] = {"\x08\0\0\0\0\0\x2a\0", 8, 0},
    [L(GENEVE)] = {"\0\0\0\0\0\0\x2a\0", 8, 2},
};

static const uint16_t ethertypes[CARRY_PROTOCOL_COUNT] = {
    [L(IP)] = 0x0800, [L(IPV6)] = 0x86dd, [L(VLAN)] = 0x8100, [L(ETHERNET)] = 0x6558};

static const uint8_t ip_protocols[CARRY_PROTOCOL_COUNT] = {
    [L(IP)] = 4,   [L(IPV6)] = 41,   [L(TCP)] = 6, [L(UDP)] = 17,
    [L(ICMP)] = 1, [L(ICMPV6)] = 58, [L(GRE)] = 47};

static void put_length(uint8_t *bytes, uint32_t number) {
    bytes[0] = (uint8_t)(number >> 8);
    bytes[1] = (uint8_t)number;
}

static void announce_next(uint8_t *header, uint8_t protocol, uint8_t next) {
    uint8_t *number = header + headers[protocol].announces;
    switch (protocol) {
    case L(IP):
    case L(IPV6):
        *number = ip_protocols[next];
        break;
    case L(LOOPBACK):
        number[3] = next == L(IP) ? 2 : 30;
        break;
    case L(UDP):
        put_length(number, next == L(VXLAN) ? 4789 : 6081);
        break;
    case L(RAW):
    case L(VXLAN):
        break;
    default:
        put_length(number, ethertypes[next]);
    }
}

static void put_lengths(struct stacked *frame, const struct carry_jit_packet_spec *spec,
                        uint32_t from, uint32_t less) {
    uint32_t end = frame->size - less;
    for (uint32_t i = from; i < spec->count; i++) {
        uint32_t at = frame->offsets[i];
        if (spec->layers[i] == L(IP))
            put_length(frame->bytes + at + 2, end - at);
        if (spec->layers[i] == L(IPV6))
            put_length(frame->bytes + at + 4, end - at - 40);
        if (spec->layers[i] == L(UDP))
            put_length(frame->bytes + at + 4, end - at);
    }
}

void stack_shorten(struct stacked *frame, const struct carry_jit_packet_spec *spec, uint32_t from,
                   uint32_t less) {
    put_lengths(frame, spec, from, less);
}

void stack_seal(struct stacked *frame, const struct carry_jit_packet_spec *spec) {
    const struct carry_frame all = {frame->bytes, frame->size, frame->size, spec->linktype, 0};
    carry_packet_fill(&all, NULL, NULL, 0);
}

void stack_build(struct stacked *frame, const struct carry_jit_packet_spec *spec,
                 uint32_t payload) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < spec->count; i++) {
        const struct header *header = &headers[spec->layers[i]];
        frame->offsets[i] = at;
        memcpy(frame->bytes + at, header->bytes, header->size);
        if (i + 1 < spec->count)
            announce_next(frame->bytes + at, spec->layers[i], spec->layers[i + 1]);
        at += header->size;
    }
    frame->headers = at;
    frame->size = at + payload;
    rng_fill(frame->bytes + at, payload);
    put_lengths(frame, spec, 0, 0);
    stack_seal(frame, spec);
}
