/* SPDX-License-Identifier: MIT */
/*
 * Ethernet with its preamble (IEEE 802.3, section 99.3): 7 bytes, then the delimiter, which shows
 * whether the frame is whole or a part of an interrupted frame.
 */
#include "packet/walk.h"

#define DELIMITER_WHOLE 0xd5

uint32_t carry_packet_walk_mpacket(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 8);
    return header && header[7] == DELIMITER_WHOLE ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
