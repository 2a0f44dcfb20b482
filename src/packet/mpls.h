/* SPDX-License-Identifier: MIT */
/* The label stack of MPLS (RFC 3032), on a link or in UDP. */
#ifndef CARRY_PACKET_MPLS_H
#define CARRY_PACKET_MPLS_H

#include "packet/walk.h"

#define CARRY_MPLS_ENTROPY_FOLLOWS 7 /* the indicator of RFC 6790, section 11.1 */

/*
 * Moves past the label at the bottom of the stack. Returns false if that label is missing. Entropy
 * labels stay out of the scope: they depend on ports, which only the first fragment of a datagram
 * shows.
 */
static inline bool carry_mpls_skip_labels(struct carry_walk *walk) {
    uint32_t above = 0;
    for (const uint8_t *entry; (entry = carry_walk_take(walk, 4));) {
        uint32_t label = carry_load32(entry) >> 12;
        if (above != CARRY_MPLS_ENTROPY_FOLLOWS)
            carry_walk_narrow_scope(walk, label);
        if (entry[2] & 0x01)
            return true;
        above = label;
    }
    return false;
}

#endif
