/* SPDX-License-Identifier: MIT */
/* The tag of Broadcom's switches before an Ethernet header: 4 bytes. */
#include "packet/walk.h"

uint32_t carry_packet_walk_brcm_prepend(struct carry_walk *walk) {
    return carry_walk_take(walk, 4) ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}
