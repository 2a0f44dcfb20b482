/* SPDX-License-Identifier: MIT */
/* Per-Packet Information (CACE, 1.0.10): the total size, the link type of the frame, fields. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ppi(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = carry_load_le16(header + 2);
    if (header[0] != 0 || size < 8 || !carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(LINK, carry_load_le32(header + 4));
}
