/* SPDX-License-Identifier: MIT */
/* IGMP (RFC 2236, RFC 3376): the checksum covers all of the datagram, in any version. */
#include "packet/walk.h"

uint32_t carry_packet_walk_igmp(struct carry_walk *walk) {
    carry_walk_require_length(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_IGMP, 2, carry_walk_size(walk), 0, CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
