/* SPDX-License-Identifier: MIT */
/* LISP data (RFC 9300, section 5): 8 bytes of any value, then IP that must fill the rest. */
#include "packet/walk.h"

#define HAS_INSTANCE 0x08

uint32_t carry_packet_walk_lisp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    if (header[0] & HAS_INSTANCE)
        carry_walk_narrow_scope(walk, carry_load32(header + 4) >> 8);
    return carry_walk_exact_ip(walk);
}
