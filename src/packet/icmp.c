/* SPDX-License-Identifier: MIT */
/* ICMP (RFC 792). Errors quote the packet that caused them. */
#include "packet/walk.h"

enum type {
    TYPE_UNREACHABLE = 3,
    TYPE_SOURCE_QUENCH = 4,
    TYPE_REDIRECT = 5,
    TYPE_TIME_EXCEEDED = 11,
    TYPE_PARAMETER_PROBLEM = 12,
};

uint32_t carry_packet_walk_icmp(struct carry_walk *walk) {
    carry_walk_sum(walk, CARRY_PROTOCOL_ICMP, 2, carry_walk_size(walk), 0, CARRY_ZERO_IS_PLAIN);
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    switch (header[0]) {
    case TYPE_UNREACHABLE:
    case TYPE_SOURCE_QUENCH:
    case TYPE_REDIRECT:
    case TYPE_TIME_EXCEEDED:
    case TYPE_PARAMETER_PROBLEM:
        carry_walk_start_quote(walk);
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    default:
        return CARRY_NEXT_NONE;
    }
}
