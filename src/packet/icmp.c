/* SPDX-License-Identifier: MIT */
/* ICMP (RFC 792). Errors quote the packet that caused them. */
#include "packet/icmp.h"

enum type {
    TYPE_UNREACHABLE = 3,
    TYPE_SOURCE_QUENCH = 4,
    TYPE_REDIRECT = 5,
    TYPE_TIME_EXCEEDED = 11,
    TYPE_PARAMETER_PROBLEM = 12,
};

uint32_t carry_packet_walk_icmp(struct carry_walk *walk) {
    carry_walk_require_length(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_ICMP, 2, carry_walk_size(walk), 0, CARRY_ZERO_IS_PLAIN);
    const uint8_t *header = carry_walk_header(walk, CARRY_ICMP_HEADER_SIZE);
    if (!header)
        return CARRY_NEXT_NONE;
    switch (header[0]) {
    case TYPE_UNREACHABLE:
    case TYPE_TIME_EXCEEDED:
    case TYPE_PARAMETER_PROBLEM:
        carry_icmp_start_extended_quote(walk, header[5] * 4u);
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case TYPE_SOURCE_QUENCH:
    case TYPE_REDIRECT:
        carry_icmp_start_quote(walk);
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case CARRY_ICMP_EXTENDED_ECHO:
        walk->offset += CARRY_ICMP_HEADER_SIZE;
        return carry_icmp_extension(walk);
    default:
        return CARRY_NEXT_NONE;
    }
}
