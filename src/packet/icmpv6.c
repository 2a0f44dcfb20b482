/* SPDX-License-Identifier: MIT */
/* ICMPv6 (RFC 4443): unlike ICMP it covers a pseudo-header. Errors quote the packet at fault. */
#include "packet/walk.h"

enum type {
    TYPE_UNREACHABLE = 1,
    TYPE_TOO_BIG = 2,
    TYPE_TIME_EXCEEDED = 3,
    TYPE_PARAMETER_PROBLEM = 4,
};

uint32_t carry_packet_walk_icmpv6(struct carry_walk *walk) {
    if (walk->version != 6)
        return CARRY_NEXT_NONE;
    uint32_t size = carry_walk_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_ICMPV6, 2, size, carry_walk_pseudo(walk, 58, size),
                   CARRY_ZERO_IS_PLAIN);
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    switch (header[0]) {
    case TYPE_UNREACHABLE:
    case TYPE_TOO_BIG:
    case TYPE_TIME_EXCEEDED:
    case TYPE_PARAMETER_PROBLEM:
        carry_walk_start_quote(walk);
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}
