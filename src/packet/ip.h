/* SPDX-License-Identifier: MIT */
/* IPv4 (RFC 791): enters the datagram, and lists the checksum of the header. */
#ifndef CARRY_PACKET_IP_H
#define CARRY_PACKET_IP_H

#include "packet/walk.h"

#define CARRY_IP_MORE_FRAGMENTS  0x2000
#define CARRY_IP_FRAGMENT_OFFSET 0x1fff

enum carry_ip_option {
    CARRY_IP_OPTION_END = 0,
    CARRY_IP_OPTION_NOP = 1,
    CARRY_IP_OPTION_LSRR = 131,
    CARRY_IP_OPTION_SSRR = 137,
};

/* Returns the last address of a source route that has hops left, otherwise NULL. */
static const uint8_t *carry_ip_end_of_route(const uint8_t *option, uint32_t size) {
    uint32_t pointer = size < 3 ? 0 : option[2]; /* counts from 1 */
    bool has_hops = pointer >= 4 && pointer <= size && (size - 3) % 4 == 0;
    return has_hops ? option + size - 4 : NULL;
}

/*
 * Returns the destination for pseudo-headers after a header with options: the final one (RFC 1122,
 * section 4.1.3.4).
 */
static CARRY_COLD const uint8_t *carry_ip_final_destination(const uint8_t *header, uint32_t size) {
    const uint8_t *destination = header + 16;
    for (uint32_t i = 20; i < size && header[i] != CARRY_IP_OPTION_END;) {
        const uint8_t *option = header + i, *end = NULL;
        uint32_t option_size = 1;
        if (option[0] != CARRY_IP_OPTION_NOP)
            option_size = i + 1 < size ? option[1] : 0;
        if (option_size == 0 || option_size > size - i)
            break;
        if (option[0] == CARRY_IP_OPTION_LSRR || option[0] == CARRY_IP_OPTION_SSRR)
            end = carry_ip_end_of_route(option, option_size);
        destination = end ? end : destination;
        i += option_size;
    }
    return destination;
}

/* Returns why an incomplete header cannot be judged: FRAGMENT if its rest may be in the next
 * fragment, otherwise NONE. */
static CARRY_ALWAYS_INLINE enum carry_reason carry_ip_missing(const struct carry_walk *walk) {
    bool may_be_in_next = walk->beyond == CARRY_REASON_FRAGMENT && walk->bound - walk->offset < 20;
    return may_be_in_next ? CARRY_REASON_FRAGMENT : CARRY_REASON_NONE;
}

/* Lists an invalid or incomplete header, and returns CARRY_NEXT_NONE. */
static CARRY_ALWAYS_INLINE uint32_t carry_ip_list_alone(struct carry_walk *walk,
                                                        enum carry_reason why_unverifiable) {
    walk->network = walk->offset;
    walk->version = 4;
    walk->why_unverifiable = (uint8_t)why_unverifiable;
    carry_walk_sum(walk, CARRY_PROTOCOL_IP, 10, 20, 0, CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}

/* Lists the sum of a header of `size` bytes, and enters its datagram. Returns the next protocol. */
static CARRY_ALWAYS_INLINE uint32_t carry_ip_enter(struct carry_walk *walk, const uint8_t *header,
                                                   uint32_t size) {
    /* Segmentation offload leaves a total length of 0 where 16 bits cannot hold it, or where the
       card fills it in: then the datagram fills the layer around it. */
    uint32_t total = carry_load16(header + 2);
    uint64_t end = total ? walk->offset + (uint64_t)total : walk->end;
    carry_walk_start_datagram(walk, 4, header + 12, header + 16, end);
    bool is_whole = carry_walk_header(walk, size) != NULL;
    carry_walk_sum(walk, CARRY_PROTOCOL_IP, 10, size, 0, CARRY_ZERO_IS_PLAIN);
    if (!is_whole)
        return CARRY_NEXT_NONE;
    if (size > 20)
        walk->dst = carry_ip_final_destination(header, size);
    walk->offset += size;

    uint32_t fragment = carry_load16(header + 6);
    if (fragment & (CARRY_IP_FRAGMENT_OFFSET | CARRY_IP_MORE_FRAGMENTS))
        return carry_walk_fragment(walk, header[9], carry_load16(header + 4),
                                   (fragment & CARRY_IP_FRAGMENT_OFFSET) * 8,
                                   fragment & CARRY_IP_MORE_FRAGMENTS);
    return CARRY_NEXT(IP, header[9]);
}

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_ip(struct carry_walk *walk) {
    if (!carry_walk_enter_ip(walk))
        return CARRY_NEXT_NONE;
    const uint8_t *header = carry_walk_header(walk, 20);
    /* Few headers have options: carry_ip_enter() is inlined twice, once with a constant size. */
    if (CARRY_LIKELY(header && header[0] == 0x45))
        return carry_ip_enter(walk, header, 20);
    uint32_t size = header ? (header[0] & 15) * 4u : 0;
    if (size < 20 || header[0] >> 4 != 4)
        return carry_ip_list_alone(walk, header ? CARRY_REASON_MALFORMED : carry_ip_missing(walk));
    return carry_ip_enter(walk, header, size);
}

#endif
