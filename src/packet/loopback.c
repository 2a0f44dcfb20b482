/* SPDX-License-Identifier: MIT */
/*
 * BSD loopback: an address family, in the byte order of the capturing host (LINKTYPE_NULL) or in
 * network order (LINKTYPE_LOOP).
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_loopback(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    return header ? carry_walk_family(carry_load_family(header)) : CARRY_NEXT_NONE;
}
