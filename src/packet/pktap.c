/* SPDX-License-Identifier: MIT */
/* Darwin's PKTAP: its own size, a record type, and the link type of the frame after it. */
#include "packet/walk.h"

#define RECORD_PACKET 1

uint32_t carry_packet_walk_pktap(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 12);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = carry_load_le32(header);
    if (size < 12 || carry_load_le32(header + 4) != RECORD_PACKET || !carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(LINK, carry_load_le32(header + 8));
}
