/* SPDX-License-Identifier: MIT */
/* A VLAN tag (IEEE 802.1Q; stacked, 802.1ad "QinQ"): control information, then a type field. */
#ifndef CARRY_PACKET_VLAN_H
#define CARRY_PACKET_VLAN_H

#include "packet/walk.h"

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_vlan(struct carry_walk *walk) {
    const uint8_t *tag = carry_walk_header(walk, 4);
    if (tag)
        carry_walk_narrow_scope(walk, carry_load16(tag) & 0xfff);
    return carry_walk_typed(walk, 4);
}

#endif
