/* SPDX-License-Identifier: MIT */
/*
 * GRE in UDP (RFC 8086). It is recognised by reserved bits that are zero, and by a known type.
 */
#include "packet/walk.h"

#define RESERVED 0x4fff /* of the flags and the version; the other flags announce fields */

uint32_t carry_packet_walk_gre_udp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    bool is_gre = header && (carry_load16(header) & RESERVED) == 0 &&
                  CARRY_NEXT(ETHERTYPE, carry_load16(header + 2)) != CARRY_NEXT_NONE;
    return is_gre ? CARRY_NEXT(IP, 47) : CARRY_NEXT_NONE;
}
