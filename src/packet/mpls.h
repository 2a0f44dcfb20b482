/* SPDX-License-Identifier: MIT */
/* The label stack of MPLS (RFC 3032), on a link or in UDP. */
#ifndef CARRY_PACKET_MPLS_H
#define CARRY_PACKET_MPLS_H

#include "packet/walk.h"

/* Steps over the labels down to the bottom of the stack; false if it is not there. */
static inline bool carry_mpls_skip_labels(struct carry_walk *walk) {
    for (const uint8_t *entry; (entry = carry_walk_take(walk, 4));)
        if (entry[2] & 0x01)
            return true;
    return false;
}

#endif
