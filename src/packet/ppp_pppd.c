/* SPDX-License-Identifier: MIT */
/*
 * PPP as Linux's pppd records it: the direction, 0 or 1, replaces the address of HDLC-like framing
 * (RFC 1662, section 3.1).
 */
#include "packet/walk.h"

#define CONTROL 0x03

uint32_t carry_packet_walk_ppp_pppd(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 2);
    bool is_framed = header && header[0] <= 1 && header[1] == CONTROL;
    return is_framed ? CARRY_NEXT(LINK, 9) : CARRY_NEXT_NONE;
}
