/* SPDX-License-Identifier: MIT */
/* LISP data (RFC 9300, section 5): 8 bytes that may hold anything, then an IP packet. */
#include "packet/walk.h"

uint32_t carry_packet_walk_lisp(struct carry_walk *walk) {
    if (!carry_walk_header(walk, 8))
        return CARRY_NEXT_NONE;
    walk->offset += 8;
    return carry_walk_exact_ip(walk);
}
