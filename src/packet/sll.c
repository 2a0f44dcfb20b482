/* SPDX-License-Identifier: MIT */
/* Linux "cooked" capture, version 1 (LINKTYPE_LINUX_SLL): 16 bytes, the last two an ethertype. */
#include "packet/walk.h"

uint32_t carry_packet_walk_sll(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 16);
    if (!header)
        return CARRY_NEXT_NONE;
    walk->offset += 16;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header + 14));
}
