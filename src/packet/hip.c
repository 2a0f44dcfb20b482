/* SPDX-License-Identifier: MIT */
/* HIP (RFC 7401, section 5.1.1): its checksum covers HIP and the pseudo-header of either IP. */
#include "packet/walk.h"

uint32_t carry_packet_walk_hip(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = header ? 8 + header[1] * 8u : 8;
    carry_walk_sum(walk, CARRY_PROTOCOL_HIP, 4, size, carry_walk_pseudo(walk, 139, size),
                   CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
