/* SPDX-License-Identifier: MIT */
/* Packets of a PPPoE session (RFC 2516, section 4), which hold PPP. The walk ends at discovery. */
#include "packet/walk.h"

#define VERSION_AND_TYPE 0x11
#define SESSION_DATA     0x00

uint32_t carry_packet_walk_pppoe(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 6);
    if (!header || header[0] != VERSION_AND_TYPE || header[1] != SESSION_DATA)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load16(header + 2));
    carry_walk_limit(walk, carry_load16(header + 4));
    return CARRY_NEXT(LINK, 9);
}
