/* SPDX-License-Identifier: MIT */
/*
 * PIM (RFC 7761, section 4.9): covered to the end, over IPv6 with a pseudo-header. Register
 * messages, which hold a packet, are covered up to it; receivers must accept that the packet is
 * covered too, as some senders do.
 */
#include "packet/walk.h"

#define REGISTER      0x21 /* version 2, type 1 */
#define REGISTER_SIZE 8
#define NULL_REGISTER 0x40 /* what it holds is a header for show */

static struct carry_cover cover(struct carry_walk *walk, uint32_t size) {
    uint32_t pseudo = walk->version == 6 ? carry_walk_pseudo(walk, 103, size) : 0;
    return (struct carry_cover){size, pseudo};
}

uint32_t carry_packet_walk_pim(struct carry_walk *walk) {
    carry_walk_require_length(walk);
    const uint8_t *header = carry_walk_header(walk, REGISTER_SIZE);
    struct carry_cover whole = cover(walk, carry_walk_size(walk));
    if (!header || header[0] != REGISTER) {
        carry_walk_sum(walk, CARRY_PROTOCOL_PIM, 2, whole.size, whole.pseudo, CARRY_ZERO_IS_PLAIN);
        return CARRY_NEXT_NONE;
    }
    carry_walk_sum_either(walk, CARRY_PROTOCOL_PIM, 2, cover(walk, REGISTER_SIZE), whole);
    walk->offset += REGISTER_SIZE;
    return header[4] & NULL_REGISTER ? CARRY_NEXT_NONE : CARRY_NEXT(LINK, 101);
}
