/* SPDX-License-Identifier: MIT */
/*
 * Geneve (RFC 8926). It is recognised by reserved bits that are zero. Receivers ignore these bits
 * (section 3.4): if some are set, Geneve is recognised by content that fills the rest exactly.
 */
#include "packet/walk.h"

enum type { TYPE_IP = 0x0800, TYPE_ETHERNET = 0x6558, TYPE_IPV6 = 0x86dd };

static uint32_t exact_content(struct carry_walk *walk, uint32_t type) {
    switch (type) {
    case TYPE_ETHERNET:
        return carry_walk_exact_ethernet(walk);
    case TYPE_IP:
    case TYPE_IPV6:
        return carry_walk_exact_ip(walk);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_geneve(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || header[0] >> 6 != 0)
        return CARRY_NEXT_NONE;
    uint32_t size = 8 + (header[0] & 0x3f) * 4u, type = carry_load16(header + 2);
    if (!carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    bool is_plain = !(header[1] & 0x3f) && header[7] == 0;
    carry_walk_narrow_scope(walk, carry_load32(header + 4) >> 8);
    walk->offset += size;
    return is_plain ? CARRY_NEXT(ETHERTYPE, type) : exact_content(walk, type);
}
