/* SPDX-License-Identifier: MIT */
/*
 * MPLS in UDP (RFC 7510). Any bytes could be labels: it is recognised by IP that fills the rest
 * exactly. So the walk ends at pseudowires.
 */
#include "packet/mpls.h"

uint32_t carry_packet_walk_mpls_udp(struct carry_walk *walk) {
    return carry_mpls_skip_labels(walk) ? carry_walk_exact_ip(walk) : CARRY_NEXT_NONE;
}
