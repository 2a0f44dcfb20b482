/* SPDX-License-Identifier: MIT */
/* IP over Fibre Channel (RFC 2625, section 3.4): two addresses of 8 bytes, then LLC. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ipfc(struct carry_walk *walk) {
    return carry_walk_take(walk, 16) ? CARRY_NEXT(ETHERTYPE, 0x0004) : CARRY_NEXT_NONE;
}
