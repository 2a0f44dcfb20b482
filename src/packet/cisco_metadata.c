/* SPDX-License-Identifier: MIT */
/* Cisco MetaData, which carries a security group tag: 6 bytes, then a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_cisco_metadata(struct carry_walk *walk) {
    return carry_walk_typed(walk, 8);
}
