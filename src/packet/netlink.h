/* SPDX-License-Identifier: MIT */
/* Messages of Linux's netlink, after the header of a capture. */
#ifndef CARRY_PACKET_NETLINK_H
#define CARRY_PACKET_NETLINK_H

#include "packet/walk.h"

#define CARRY_ARPHRD_NETLINK 824 /* the type of device in cooked captures */

/* Checks whether the ethertype of a cooked capture is a family of netlink. */
static inline bool carry_is_netlink(uint32_t device_type, uint32_t type) {
    return device_type == CARRY_ARPHRD_NETLINK && type <= 0xff;
}

/* Walks the messages of a netlink family; the first is at `offset`. Returns the next protocol. */
uint32_t carry_walk_netlink(struct carry_walk *walk, uint32_t family);

#endif
