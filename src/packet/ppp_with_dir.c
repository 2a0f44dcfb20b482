/* SPDX-License-Identifier: MIT */
/* PPP after a byte that is 0 in received frames. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ppp_with_dir(struct carry_walk *walk) {
    return carry_walk_take(walk, 1) ? CARRY_NEXT(LINK, 9) : CARRY_NEXT_NONE;
}
