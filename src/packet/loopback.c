/* SPDX-License-Identifier: MIT */
/*
 * BSD loopback: an address family in 4 bytes, in the byte order of the capturing host
 * (LINKTYPE_NULL) or in network order (LINKTYPE_LOOP). Families are small: either order shows.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_loopback(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t family = carry_load32(header);
    if (family > 0xffff)
        family = __builtin_bswap32(family);
    walk->offset += 4;
    switch (family) {
    case 2:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 10: /* AF_INET6 of Linux, */
    case 24: /* NetBSD and OpenBSD, */
    case 28: /* FreeBSD, */
    case 30: /* Darwin */
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}
