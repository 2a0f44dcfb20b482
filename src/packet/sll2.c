/* SPDX-License-Identifier: MIT */
/*
 * Linux "cooked" capture, version 2 (LINKTYPE_LINUX_SLL2): 20 bytes, the first two an ethertype,
 * those from the fifth on the number of an interface.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_sll2(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 20);
    if (!header)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header + 4));
    walk->offset += 20;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header));
}
