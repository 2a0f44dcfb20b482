/* SPDX-License-Identifier: MIT */
/* Cisco HDLC (RFC 1547, section 4.3.1): address, control, then an ethertype. */
#include "packet/walk.h"

uint32_t carry_packet_walk_chdlc(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header)
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header + 2));
}
