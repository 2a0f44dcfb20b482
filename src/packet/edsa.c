/* SPDX-License-Identifier: MIT */
/* The DSA tag with an ethertype: 2 reserved bytes, the tag (4 bytes), then a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_edsa(struct carry_walk *walk) {
    return carry_walk_typed(walk, 8);
}
