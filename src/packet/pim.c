/* SPDX-License-Identifier: MIT */
/*
 * PIM (RFC 7761, section 4.9). The checksum covers everything, over IPv6 with a pseudo-header. In
 * Register messages, which hold a packet, it covers only the bytes before that packet. Some senders
 * cover the packet too, and receivers must accept this. A Null-Register holds a dummy header
 * (section 4.9.3). In a dummy IPv4 header, the checksum field holds a checksum or 0.
 */
#include "packet/walk.h"

#define REGISTER      0x21 /* version 2, type 1 */
#define REGISTER_SIZE 8
#define NULL_REGISTER 0x40

/* The dummy header in a Null-Register. */
#define SHOWN_SIZE     20
#define SHOWN_VERSION  0x45
#define SHOWN_PROTOCOL 103

static struct carry_cover cover(struct carry_walk *walk, uint32_t size) {
    uint32_t pseudo = walk->version == 6 ? carry_walk_pseudo(walk, 103, size) : 0;
    return (struct carry_cover){size, pseudo};
}

static uint32_t walk_shown_header(const struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, SHOWN_SIZE);
    bool is_shown = header && header[0] == SHOWN_VERSION && header[9] == SHOWN_PROTOCOL &&
                    carry_load16(header + 2) == SHOWN_SIZE;
    return is_shown && carry_load16(header + 10) ? CARRY_NEXT(LINK, 101) : CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_pim(struct carry_walk *walk) {
    if (carry_walk_size(walk) == 0) /* nothing follows a dummy header */
        return CARRY_NEXT_NONE;
    carry_walk_require_length(walk);
    const uint8_t *header = carry_walk_header(walk, REGISTER_SIZE);
    struct carry_cover whole = cover(walk, carry_walk_size(walk));
    if (!header || header[0] != REGISTER) {
        carry_walk_sum(walk, CARRY_PROTOCOL_PIM, 2, whole.size, whole.pseudo, CARRY_ZERO_IS_PLAIN);
        return CARRY_NEXT_NONE;
    }
    carry_walk_sum_either(walk, CARRY_PROTOCOL_PIM, 2, cover(walk, REGISTER_SIZE), whole);
    walk->offset += REGISTER_SIZE;
    return header[4] & NULL_REGISTER ? walk_shown_header(walk) : CARRY_NEXT(LINK, 101);
}
