/* SPDX-License-Identifier: MIT */
/*
 * Token Ring (IEEE 802.5): access and frame control, two addresses, then routing information if the
 * source address announces it, then LLC.
 */
#include "packet/walk.h"

#define TYPE_MASK    0xc0
#define TYPE_LLC     0x40
#define HAS_ROUTING  0x80 /* in the first byte of the source address */
#define ROUTING_SIZE 0x1f

uint32_t carry_packet_walk_token_ring(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 15);
    if (!header || (header[1] & TYPE_MASK) != TYPE_LLC)
        return CARRY_NEXT_NONE;
    uint32_t size = 14;
    if (header[8] & HAS_ROUTING)
        size += header[14] & ROUTING_SIZE;
    return carry_walk_take(walk, size) ? CARRY_NEXT(ETHERTYPE, 0x0004) : CARRY_NEXT_NONE;
}
