/* SPDX-License-Identifier: MIT */
/*
 * Linux "cooked" capture, version 2 (LINKTYPE_LINUX_SLL2): 20 bytes. The first two are an ethertype
 * or, for a device of netlink, its family; the fifth to eighth are the number of an interface.
 */
#include "packet/netlink.h"

uint32_t carry_packet_walk_sll2(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 20);
    if (!header)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header + 4));
    walk->offset += 20;
    uint32_t type = carry_load16(header);
    if (carry_is_netlink(carry_load16(header + 8), type))
        return carry_walk_netlink(walk, type);
    return CARRY_NEXT(ETHERTYPE, type);
}
