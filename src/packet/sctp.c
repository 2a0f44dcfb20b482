/* SPDX-License-Identifier: MIT */
/*
 * SCTP (RFC 9260, section 6.8): a CRC32c over all of the datagram. A stored 0 was agreed upon (RFC
 * 9653), or is left to transmit offload: the frame does not show which.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_sctp(struct carry_walk *walk) {
    const struct carry_packet_sum sum = {
        .protocol = CARRY_PROTOCOL_SCTP,
        .verdict = CARRY_VERDICT_UNVERIFIABLE,
        .field_size = 4,
        .field_offset = 8,
        .cover_size = carry_walk_size(walk),
    };
    carry_walk_list(walk, &sum, CARRY_VERDICT_ABSENT);
    return CARRY_NEXT_NONE;
}
