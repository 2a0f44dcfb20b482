/* SPDX-License-Identifier: MIT */
/* The I-tag of a provider backbone bridge (IEEE 802.1ah): 4 bytes, then the customer's Ethernet. */
#include "packet/walk.h"

uint32_t carry_packet_walk_itag(struct carry_walk *walk) {
    return carry_walk_take(walk, 4) ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
