/* SPDX-License-Identifier: MIT */
/* Linux "cooked" capture, version 2 (LINKTYPE_LINUX_SLL2): 20 bytes, the first two an ethertype. */
#include "packet/walk.h"

uint32_t carry_packet_walk_sll2(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 20);
    if (!header)
        return CARRY_NEXT_NONE;
    walk->offset += 20;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header));
}
