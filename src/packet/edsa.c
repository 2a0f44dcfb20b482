/* SPDX-License-Identifier: MIT */
/* The DSA tag that has an ethertype: 2 bytes reserved, the tag's 4, then a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_edsa(struct carry_walk *walk) {
    return carry_walk_typed(walk, 8);
}
