/* SPDX-License-Identifier: MIT */
/*
 * MPLS in UDP (RFC 7510). Any bytes could be labels, so MPLS is recognised only if an IP packet
 * after the labels fills the rest exactly. The walk therefore ends at pseudowires, whose content is
 * not IP.
 */
#include "packet/mpls.h"

uint32_t carry_packet_walk_mpls_udp(struct carry_walk *walk) {
    return carry_mpls_skip_labels(walk) ? carry_walk_exact_ip(walk) : CARRY_NEXT_NONE;
}
