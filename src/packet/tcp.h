/* SPDX-License-Identifier: MIT */
/* TCP (RFC 9293): the checksum covers all bytes to the end of the datagram. */
#ifndef CARRY_PACKET_TCP_H
#define CARRY_PACKET_TCP_H

#include "packet/walk.h"

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_tcp(struct carry_walk *walk) {
    uint32_t size = carry_walk_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_TCP, 16, size, carry_walk_pseudo(walk, 6, size),
                   CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}

#endif
