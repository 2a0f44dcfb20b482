/* SPDX-License-Identifier: MIT */
/* RSVP (RFC 2205, section 3.1.1). The checksum covers as many bytes as RSVP's length says. If 0 is
 * stored, the checksum is absent. */
#include "packet/walk.h"

uint32_t carry_packet_walk_rsvp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = header ? carry_load16(header + 6) : 8;
    carry_walk_sum(walk, CARRY_PROTOCOL_RSVP, 2, size, 0,
                   header ? CARRY_VERDICT_ABSENT : CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
