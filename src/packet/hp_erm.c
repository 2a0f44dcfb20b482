/* SPDX-License-Identifier: MIT */
/*
 * Frames that ProCurve's switches mirror: 12 undocumented bytes, then Ethernet. The walk recognises
 * them if an IP packet fills the Ethernet frame.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_hp_erm(struct carry_walk *walk) {
    return carry_walk_take(walk, 12) ? carry_walk_exact_ethernet(walk) : CARRY_NEXT_NONE;
}
