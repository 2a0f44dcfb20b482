/* SPDX-License-Identifier: MIT */
/*
 * NHRP (RFC 2332, section 5.2.1), which the ends of GRE tunnels use to find each other. The
 * checksum covers as many bytes as NHRP's length says.
 */
#include "packet/walk.h"

#define VERSION 1

uint32_t carry_packet_walk_nhrp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 20);
    if (header && header[16] == VERSION)
        carry_walk_sum(walk, CARRY_PROTOCOL_NHRP, 12, carry_load16(header + 10), 0,
                       CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
