/* SPDX-License-Identifier: MIT */
/* IPv6 (RFC 8200). It has no checksum of its own. */
#ifndef CARRY_PACKET_IPV6_H
#define CARRY_PACKET_IPV6_H

#include "packet/walk.h"

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_ipv6(struct carry_walk *walk) {
    if (!carry_walk_enter_ip(walk))
        return CARRY_NEXT_NONE;
    const uint8_t *header = carry_walk_header(walk, 40);
    if (!header || header[0] >> 4 != 6)
        return CARRY_NEXT_NONE;
    /* A payload length of 0 means that 16 bits cannot hold it: a jumbogram, whose length is in an
       option, or segmentation offload, as in IPv4. */
    uint32_t payload = carry_load16(header + 4);
    uint64_t end = payload ? walk->offset + (uint64_t)payload + 40 : walk->end;
    carry_walk_start_datagram(walk, 6, header + 8, header + 24, end);
    walk->offset += 40;
    return CARRY_NEXT(IP, header[6]);
}

#endif
