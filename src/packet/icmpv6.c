/* SPDX-License-Identifier: MIT */
/*
 * ICMPv6 (RFC 4443): unlike ICMP's, its checksum covers a pseudo-header. Errors quote the packet
 * that caused them. Redirects of neighbour discovery quote the redirected packet in an option (RFC
 * 4861, section 4.6.3).
 */
#include "packet/icmp.h"

enum type {
    TYPE_UNREACHABLE = 1,
    TYPE_TOO_BIG = 2,
    TYPE_TIME_EXCEEDED = 3,
    TYPE_PARAMETER_PROBLEM = 4,
    TYPE_REDIRECT = 137,
    TYPE_EXTENDED_ECHO = 160,
};

#define REDIRECT_SIZE          40 /* before the options, whose sizes are in units of 8 bytes */
#define OPTION_REDIRECTED_HEAD 4

/* Enters the packet that an option quotes, and returns its protocol. The option's header is as long
 * as an error's. */
static uint32_t walk_redirect(struct carry_walk *walk) {
    const uint8_t *option = carry_walk_take(walk, REDIRECT_SIZE);
    while (option && (option = carry_walk_header(walk, CARRY_ICMP_HEADER_SIZE)) && option[1]) {
        if (option[0] == OPTION_REDIRECTED_HEAD) {
            carry_icmp_cut_quote(walk, option[1] * 8u);
            carry_icmp_start_quote(walk);
            return CARRY_NEXT(ETHERTYPE, 0x86dd);
        }
        option = carry_walk_take(walk, option[1] * 8u);
    }
    return CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_icmpv6(struct carry_walk *walk) {
    if (walk->version != 6)
        return CARRY_NEXT_NONE;
    carry_walk_require_length(walk);
    uint32_t size = carry_walk_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_ICMPV6, 2, size, carry_walk_pseudo(walk, 58, size),
                   CARRY_ZERO_IS_PLAIN);
    const uint8_t *header = carry_walk_header(walk, CARRY_ICMP_HEADER_SIZE);
    if (!header)
        return CARRY_NEXT_NONE;
    switch (header[0]) {
    case TYPE_UNREACHABLE:
    case TYPE_TIME_EXCEEDED:
        carry_icmp_start_extended_quote(walk, header[4] * 8u);
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case TYPE_TOO_BIG:
    case TYPE_PARAMETER_PROBLEM:
        carry_icmp_start_quote(walk);
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case TYPE_REDIRECT:
        return walk_redirect(walk);
    case TYPE_EXTENDED_ECHO:
        walk->offset += CARRY_ICMP_HEADER_SIZE;
        return carry_icmp_extension(walk);
    default:
        return CARRY_NEXT_NONE;
    }
}
