/* SPDX-License-Identifier: MIT */
/* EIGRP (RFC 7868, section 6.5): the checksum covers everything, but no pseudo-header, even over
 * IPv6. */
#include "packet/walk.h"

uint32_t carry_packet_walk_eigrp(struct carry_walk *walk) {
    carry_walk_require_length(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_EIGRP, 2, carry_walk_size(walk), 0, CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
