/* SPDX-License-Identifier: MIT */
/* Solaris's view between its zones (ipnet(4D)): 24 bytes, in network byte order. */
#include "packet/walk.h"

#define VERSION 1

enum family { FAMILY_IP = 2, FAMILY_IPV6 = 26 };

uint32_t carry_packet_walk_ipnet(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 24);
    if (!header || header[0] != VERSION)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header + 8)); /* the interface */
    switch (header[1]) {
    case FAMILY_IP:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case FAMILY_IPV6:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}
