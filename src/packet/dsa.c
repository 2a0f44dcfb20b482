/* SPDX-License-Identifier: MIT */
/* Ethernet with a DSA tag of Marvell's switches: 4 bytes between the addresses and the type. */
#include "packet/walk.h"

uint32_t carry_packet_walk_dsa(struct carry_walk *walk) {
    return carry_walk_typed(walk, 18);
}
