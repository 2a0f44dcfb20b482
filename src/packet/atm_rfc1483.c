/* SPDX-License-Identifier: MIT */
/*
 * What AAL5 carries (RFC 2684, which replaces RFC 1483): behind an LLC header in the frame, or, as
 * only the two ends know, IP alone (section 6.1), which then is all that there is.
 */
#include "packet/snap.h"

#define BRIDGED_PADDING 2

uint32_t carry_packet_walk_atm_rfc1483(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    uint32_t llc = header ? carry_load32(header) >> 8 : 0;
    if (llc != CARRY_LLC_SNAP && llc != CARRY_LLC_NLPID)
        return carry_walk_exact_ip(walk);
    walk->offset += 3;
    return llc == CARRY_LLC_SNAP ? carry_walk_snap(walk, BRIDGED_PADDING)
                                 : carry_walk_nlpid(walk, BRIDGED_PADDING);
}
