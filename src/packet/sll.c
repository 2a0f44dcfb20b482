/* SPDX-License-Identifier: MIT */
/*
 * Linux "cooked" capture, version 1 (LINKTYPE_LINUX_SLL): 16 bytes. The last two are an ethertype
 * or, for a device of netlink, its family, which is a small number.
 */
#include "packet/netlink.h"

uint32_t carry_packet_walk_sll(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 16);
    if (!header)
        return CARRY_NEXT_NONE;
    walk->offset += 16;
    uint32_t type = carry_load16(header + 14);
    if (carry_is_netlink(carry_load16(header + 2), type))
        return carry_walk_netlink(walk, type);
    return CARRY_NEXT(ETHERTYPE, type);
}
