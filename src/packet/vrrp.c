/* SPDX-License-Identifier: MIT */
/*
 * VRRP. In version 2 (RFC 3768, section 5.3.8), the checksum covers no pseudo-header. In version 3
 * (RFC 5798, section 5.2.8) it covers one; over IPv4, some senders omit it. CARP, which has the
 * same protocol number, sums as version 2 does.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_vrrp(struct carry_walk *walk) {
    carry_walk_require_length(walk);
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = carry_walk_size(walk);
    struct carry_cover with_pseudo = {size, carry_walk_pseudo(walk, 112, size)};
    struct carry_cover without = {size, 0};
    if (walk->version == 6)
        without = with_pseudo;
    if (header && header[0] >> 4 < 3)
        with_pseudo = without;
    carry_walk_sum_either(walk, CARRY_PROTOCOL_VRRP, 6, with_pseudo, without);
    return CARRY_NEXT_NONE;
}
