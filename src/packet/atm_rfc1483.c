/* SPDX-License-Identifier: MIT */
/*
 * The content of AAL5 (RFC 2684, which replaces RFC 1483): a packet after an LLC header, or IP
 * without a header (section 6.1). Only the two ends know which form they use. So without
 * an LLC header, the walk recognises only IP that fills the frame.
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
