/* SPDX-License-Identifier: MIT */
/*
 * What ProCurve's switches mirror: 12 bytes that nothing documents, then Ethernet. IP that fills
 * the frame tells it from other traffic on the port.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_hp_erm(struct carry_walk *walk) {
    return carry_walk_take(walk, 12) ? carry_walk_exact_ethernet(walk) : CARRY_NEXT_NONE;
}
