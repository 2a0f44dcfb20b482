/* SPDX-License-Identifier: MIT */
/* Geneve (RFC 8926). Reserved bits must be zero: that tells it from other traffic on its port. */
#include "packet/walk.h"

uint32_t carry_packet_walk_geneve(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || header[0] >> 6 != 0 || header[1] & 0x3f || header[7] != 0)
        return CARRY_NEXT_NONE;
    uint32_t size = 8 + (header[0] & 0x3f) * 4u;
    if (!carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header + 4) >> 8);
    walk->offset += size;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header + 2));
}
