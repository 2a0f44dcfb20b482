/* SPDX-License-Identifier: MIT */
/* Ethernet (IEEE 802.3): two addresses, then an ethertype or a length. */
#ifndef CARRY_PACKET_ETHERNET_H
#define CARRY_PACKET_ETHERNET_H

#include "packet/walk.h"

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_ethernet(struct carry_walk *walk) {
    return carry_walk_typed(walk, 14);
}

#endif
