/* SPDX-License-Identifier: MIT */
/* Cisco's VN-Tag: the virtual interfaces of source and target (4 bytes), then a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_vntag(struct carry_walk *walk) {
    return carry_walk_typed(walk, 6);
}
