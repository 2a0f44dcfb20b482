/* SPDX-License-Identifier: MIT */
/* Mirrored frames, ERSPAN types II and III (draft-foschiano-erspan-03). */
#include "packet/walk.h"

enum version { VERSION_TYPE_II = 1, VERSION_TYPE_III = 2 };
#define VLAN_AND_SESSION 0x0fff03ff

enum frame_type { FRAME_ETHERNET = 0, FRAME_IP = 2 };

/* Walks type III, whose header may be followed by 8 bytes that are specific to the platform.
 * Returns the next protocol. */
static uint32_t walk_type_iii(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 12);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t flags = carry_load16(header + 10);
    uint32_t size = flags & 0x0001 ? 20 : 12;
    uint32_t frame_type = flags >> 10 & 0x1f;
    if (!carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    walk->offset += size;
    if (frame_type == FRAME_IP)
        return carry_walk_ip_version(walk);
    return frame_type == FRAME_ETHERNET ? CARRY_NEXT(ETHERTYPE, 0x6558) : CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_erspan(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header) & VLAN_AND_SESSION);
    switch (header[0] >> 4) {
    case VERSION_TYPE_II:
        walk->offset += 8;
        return CARRY_NEXT(ETHERTYPE, 0x6558);
    case VERSION_TYPE_III:
        return walk_type_iii(walk);
    default:
        return CARRY_NEXT_NONE;
    }
}
