/* SPDX-License-Identifier: MIT */
/* The mobility header of IPv6 (RFC 6275, section 6.1.1): the checksum covers only this header. */
#include "packet/walk.h"

uint32_t carry_packet_walk_mipv6(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (walk->version != 6)
        return CARRY_NEXT_NONE;
    uint32_t size = header ? 8 + header[1] * 8u : 8;
    carry_walk_sum(walk, CARRY_PROTOCOL_MIPV6, 4, size, carry_walk_pseudo(walk, 135, size),
                   CARRY_ZERO_IS_PLAIN);
    if (!header || !carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    walk->offset += size;
    return CARRY_NEXT(IP, header[0]);
}
