/* SPDX-License-Identifier: MIT */
/* UDP (RFC 768, over IPv6 RFC 8200): covered for as long as its own length says. */
#include "packet/walk.h"

/* A length of 0 is for what 16 bits cannot hold (RFC 2675, section 4); IPv6 hosts accept any. */
static uint32_t covered_size(const struct carry_walk *walk, uint32_t stated, uint32_t room) {
    bool too_long_to_state = walk->version == 6 || room > UINT16_MAX;
    return stated == 0 && too_long_to_state ? room : stated;
}

/* Over IPv4 the sender may choose to send no checksum; over IPv6 it must send one. */
static enum carry_verdict meaning_of_zero(const struct carry_walk *walk) {
    return walk->version == 4 ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_ILLEGAL;
}

uint32_t carry_packet_walk_udp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = carry_walk_size(walk);
    if (header)
        size = covered_size(walk, carry_load16(header + 4), size);
    carry_walk_sum(walk, CARRY_PROTOCOL_UDP, 6, size, carry_walk_pseudo(walk, 17, size),
                   meaning_of_zero(walk));
    return CARRY_NEXT_NONE;
}
