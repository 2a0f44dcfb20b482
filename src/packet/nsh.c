/* SPDX-License-Identifier: MIT */
/* The Network Service Header (RFC 8300, section 2.2). */
#include "packet/walk.h"

static uint32_t nsh_content(uint8_t next_protocol) {
    switch (next_protocol) {
    case 1:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 2:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case 3:
        return CARRY_NEXT(LINK, 1);
    case 4:
        return CARRY_NEXT(ETHERTYPE, 0x894f);
    case 5:
        return CARRY_NEXT(ETHERTYPE, 0x8847);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_nsh(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t version = header[0] >> 6;
    uint32_t size = (header[1] & 63u) * 4;
    if (version != 0 || size < 8 || !carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header + 4) >> 8); /* the path's number */
    return nsh_content(header[3]);
}
