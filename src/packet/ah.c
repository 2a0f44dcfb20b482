/* SPDX-License-Identifier: MIT */
/* The IP authentication header (RFC 4302). It encrypts nothing: sums after it can be verified. Its
 * integrity value needs a key, and is not a checksum. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ah(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = (header[1] + 2u) * 4;
    if (!carry_walk_header(walk, size))
        return CARRY_NEXT_NONE;
    walk->offset += size;
    return CARRY_NEXT(IP, header[0]);
}
