/* SPDX-License-Identifier: MIT */
/* Ethernet (IEEE 802.3): two addresses, then an ethertype or a length. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ethernet(struct carry_walk *walk) {
    return carry_walk_typed(walk, 14);
}
