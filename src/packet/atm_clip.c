/* SPDX-License-Identifier: MIT */
/*
 * Classical IP over ATM (RFC 2225) as Linux records it: IP with or without an LLC header. SuSE's
 * kernels used link type 18 for it. OpenBSD uses 18 for frames that never begin like IP.
 */
#include "packet/snap.h"

uint32_t carry_packet_walk_atm_clip(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    bool has_llc = header && carry_load32(header) >> 8 == CARRY_LLC_SNAP;
    return has_llc ? CARRY_NEXT(ETHERTYPE, 0x0004) : carry_walk_ip_version(walk);
}
