/* SPDX-License-Identifier: MIT */
/*
 * SCTP in UDP (RFC 6951). It is recognised by chunks of known types that fill the rest exactly.
 */
#include "packet/walk.h"

#define COMMON_HEADER_SIZE 12

/* Checks whether the type of a chunk is known. Each of the ranges from 0, 64, 128 and 192 on has
 * its own types. */
static bool is_known_chunk(uint8_t type) {
    return (type & 0x3f) <= (type < 0x40 ? 14 : 4);
}

/* Returns the padded size of the chunk `offset` bytes into the packet, or 0 if no chunk is there.
 */
static uint32_t chunk_size(const struct carry_walk *walk, uint64_t offset) {
    if (offset + 4 > carry_walk_readable(walk) - walk->offset)
        return 0;
    const uint8_t *chunk = walk->data + walk->offset + offset;
    if (!is_known_chunk(chunk[0]))
        return 0;
    uint32_t size = carry_load16(chunk + 2);
    return size < 4 ? 0 : (size + 3) & ~3u;
}

uint32_t carry_packet_walk_sctp_udp(struct carry_walk *walk) {
    uint64_t offset = COMMON_HEADER_SIZE, all = carry_walk_size(walk);
    for (uint32_t size; offset < all; offset += size) {
        size = chunk_size(walk, offset);
        if (size == 0)
            return CARRY_NEXT_NONE;
    }
    return offset == all && all > COMMON_HEADER_SIZE ? CARRY_NEXT(IP, 132) : CARRY_NEXT_NONE;
}
