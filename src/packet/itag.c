/* SPDX-License-Identifier: MIT */
/* The I-tag of a provider backbone bridge (IEEE 802.1ah): 4 bytes, then the customer's Ethernet. */
#include "packet/walk.h"

#define SERVICE 0x00ffffff

uint32_t carry_packet_walk_itag(struct carry_walk *walk) {
    const uint8_t *tag = carry_walk_take(walk, 4);
    if (!tag)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(tag) & SERVICE);
    return CARRY_NEXT(LINK, 1);
}
