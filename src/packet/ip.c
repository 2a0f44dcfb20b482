/* SPDX-License-Identifier: MIT */
/* IPv4 (RFC 791). */
#include "packet/walk.h"

#define MORE_FRAGMENTS  0x2000
#define FRAGMENT_OFFSET 0x1fff

enum option { OPTION_END = 0, OPTION_NOP = 1, OPTION_LSRR = 131, OPTION_SSRR = 137 };

/*
 * Pseudo-headers hold the final destination (RFC 1122, section 4.1.3.4): while a source route has
 * hops left, that is its last address.
 */
static void follow_source_route(struct carry_walk *walk, const uint8_t *option, uint32_t size) {
    uint32_t pointer = size < 3 ? 0 : option[2]; /* counts from 1 */
    if (pointer >= 4 && pointer <= size && (size - 3) % 4 == 0)
        walk->dst = option + size - 4;
}

static void read_options(struct carry_walk *walk, const uint8_t *header, uint32_t size) {
    for (uint32_t i = 20; i < size && header[i] != OPTION_END;) {
        const uint8_t *option = header + i;
        uint32_t option_size = 1;
        if (option[0] != OPTION_NOP)
            option_size = i + 1 < size ? option[1] : 0;
        if (option_size == 0 || option_size > size - i)
            return;
        if (option[0] == OPTION_LSRR || option[0] == OPTION_SSRR)
            follow_source_route(walk, option, option_size);
        i += option_size;
    }
}

/* Lists a header behind which nothing can be found. */
static uint32_t list_alone(struct carry_walk *walk, enum carry_reason doubt) {
    walk->network = walk->offset;
    walk->version = 4;
    walk->doubt = (uint8_t)doubt;
    carry_walk_sum(walk, CARRY_PROTOCOL_IP, 10, 20, 0, CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_ip(struct carry_walk *walk) {
    if (!carry_walk_enter_ip(walk))
        return CARRY_NEXT_NONE;
    const uint8_t *header = carry_walk_header(walk, 20);
    if (!header)
        return list_alone(walk, CARRY_REASON_NONE);
    uint32_t size = (header[0] & 15) * 4u;
    if (header[0] >> 4 != 4 || size < 20)
        return list_alone(walk, CARRY_REASON_MALFORMED);

    /* Segmentation offload leaves a total length of 0 for what 16 bits cannot hold, or for the
       card to fill in: then the datagram is all there is. */
    uint32_t total = carry_load16(header + 2);
    uint64_t end = total ? walk->offset + (uint64_t)total : walk->end;
    carry_walk_start_datagram(walk, 4, header + 12, header + 16, end);
    bool is_whole = carry_walk_header(walk, size);
    carry_walk_sum(walk, CARRY_PROTOCOL_IP, 10, size, 0, CARRY_ZERO_IS_PLAIN);
    if (!is_whole)
        return CARRY_NEXT_NONE;
    read_options(walk, header, size);
    walk->offset += size;

    uint32_t fragment = carry_load16(header + 6);
    if (fragment & (FRAGMENT_OFFSET | MORE_FRAGMENTS))
        return carry_walk_fragment(walk, header[9], carry_load16(header + 4),
                                   (fragment & FRAGMENT_OFFSET) * 8, fragment & MORE_FRAGMENTS);
    return CARRY_NEXT(IP, header[9]);
}
