/* SPDX-License-Identifier: MIT */
/*
 * SLIP (RFC 1055) as BSD records it: 16 bytes with the direction and the header that was on the
 * line, compressed or not (RFC 1144); then the packet with its uncompressed header.
 */
#include "packet/walk.h"

enum direction { RECEIVED = 0, SENT = 1 };

uint32_t carry_packet_walk_slip(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 16);
    return header && header[0] <= SENT ? carry_walk_ip_version(walk) : CARRY_NEXT_NONE;
}
