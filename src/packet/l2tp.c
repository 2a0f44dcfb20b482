/* SPDX-License-Identifier: MIT */
/*
 * L2TP, version 2 (RFC 2661): its data messages carry PPP. The walk ends at version 3, because only
 * its two ends know the content and the size of the cookie before it.
 */
#include "packet/walk.h"

#define CONTROL  0x8000
#define LENGTH   0x4000
#define SEQUENCE 0x0800
#define OFFSET   0x0200
#define PRIORITY 0x0100
#define VERSION  0x000f
#define RESERVED 0x34f0

#define PPP 0x880b

static bool is_data_message(uint32_t flags) {
    return (flags & (CONTROL | RESERVED | VERSION)) == 2;
}

uint32_t carry_packet_walk_l2tp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 6);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t flags = carry_load16(header);
    uint32_t tunnel = flags & LENGTH ? 4 : 2; /* offset of the numbers of tunnel and session */
    uint32_t size = tunnel + 4 + (flags & SEQUENCE ? 4 : 0);
    uint32_t total = flags & LENGTH ? carry_load16(header + 2) : carry_walk_size(walk);
    if (flags & OFFSET) {
        header = carry_walk_header(walk, size + 2);
        size += header ? 2 + carry_load16(header + size) : 0;
    }
    if (!is_data_message(flags) || size > total || total > carry_walk_size(walk) ||
        !carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(walk->data + walk->offset + tunnel));
    carry_walk_set_end(walk, walk->offset + (uint64_t)total);
    walk->offset += size;
    return CARRY_NEXT(ETHERTYPE, PPP);
}
