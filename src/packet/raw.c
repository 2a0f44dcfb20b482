/* SPDX-License-Identifier: MIT */
/* IPv4 or IPv6 without any link header (LINKTYPE_RAW). */
#include "packet/walk.h"

uint32_t carry_packet_walk_raw(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 1);
    if (!header)
        return CARRY_NEXT_NONE;
    return header[0] >> 4 == 6 ? CARRY_NEXT(ETHERTYPE, 0x86dd) : CARRY_NEXT(ETHERTYPE, 0x0800);
}
