/* SPDX-License-Identifier: MIT */
/*
 * Ethernet with its preamble (IEEE 802.3, section 99.3), 8 bytes. The last one is 0xd5 only before
 * an express frame, which is always whole. Frames that may be interrupted begin in other ways.
 */
#include "packet/walk.h"

#define DELIMITER_WHOLE 0xd5

uint32_t carry_packet_walk_mpacket(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 8);
    return header && header[7] == DELIMITER_WHOLE ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
