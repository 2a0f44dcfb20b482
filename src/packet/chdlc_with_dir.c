/* SPDX-License-Identifier: MIT */
/* Cisco HDLC after a byte that is 0 in received frames. */
#include "packet/walk.h"

uint32_t carry_packet_walk_chdlc_with_dir(struct carry_walk *walk) {
    return carry_walk_take(walk, 1) ? CARRY_NEXT(LINK, 104) : CARRY_NEXT_NONE;
}
