/* SPDX-License-Identifier: MIT */
/* Ethernet (IEEE 802.3): two addresses, then an ethertype or a length. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ethernet(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 14);
    if (!header)
        return CARRY_NEXT_NONE;
    walk->offset += 14;
    return carry_walk_ethertype(walk, carry_load16(header + 12));
}
