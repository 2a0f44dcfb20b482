/* SPDX-License-Identifier: MIT */
/* Ethernet with a tag of Marvell's or Broadcom's switches: 4 bytes between addresses and type. */
#include "packet/walk.h"

uint32_t carry_packet_walk_dsa(struct carry_walk *walk) {
    return carry_walk_typed(walk, 18);
}
