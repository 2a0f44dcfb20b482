/* SPDX-License-Identifier: MIT */
/* Cisco FabricPath: a forwarding tree and a time to live (2 bytes), then an Ethernet frame. */
#include "packet/walk.h"

uint32_t carry_packet_walk_fabricpath(struct carry_walk *walk) {
    return carry_walk_take(walk, 2) ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
