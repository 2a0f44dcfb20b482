/* SPDX-License-Identifier: MIT */
/* Ethernet in IP (RFC 3378, section 3): a version and reserved bits, then the frame. */
#include "packet/walk.h"

#define VERSION_3 0x3000

uint32_t carry_packet_walk_etherip(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 2);
    return header && carry_load16(header) == VERSION_3 ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
