/* SPDX-License-Identifier: MIT */
/*
 * OSPF. The checksum covers as many bytes as OSPF's length says. In version 2 (RFC 2328, sections
 * A.3.1 and D.4) it does not cover the authentication, and is absent if this is cryptographic. In
 * version 3 (RFC 5340, section A.3.1) it covers a pseudo-header too, and is 0 if a trailer
 * authenticates the packet (RFC 7166, section 4.2).
 */
#include "packet/walk.h"

#define FIELD                12
#define HEADER_BYTES         16 /* in both versions */
#define AUTHENTICATION_BYTES 8  /* follow in version 2 */
#define CRYPTOGRAPHIC        2

static void list_version_2(struct carry_walk *walk, const uint8_t *header) {
    bool cryptographic = carry_load16(header + 14) == CRYPTOGRAPHIC;
    const struct carry_packet_sum sum = {
        .protocol = CARRY_PROTOCOL_OSPF,
        .verdict = cryptographic ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_UNVERIFIABLE,
        .field_size = 2,
        .field_offset = FIELD,
        .cover_size = carry_load16(header + 2),
        .gap_offset = HEADER_BYTES,
        .gap_size = AUTHENTICATION_BYTES,
    };
    carry_walk_list(walk, &sum, CARRY_ZERO_IS_PLAIN);
}

static void list_version_3(struct carry_walk *walk, const uint8_t *header) {
    uint32_t size = carry_load16(header + 2);
    bool has_trailer = size < carry_walk_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_OSPF, FIELD, size, carry_walk_pseudo(walk, 89, size),
                   has_trailer ? CARRY_VERDICT_ABSENT : CARRY_ZERO_IS_PLAIN);
}

uint32_t carry_packet_walk_ospf(struct carry_walk *walk) {
    const uint8_t *version = carry_walk_header(walk, 1);
    if (!version || (*version != 2 && *version != 3))
        return CARRY_NEXT_NONE;
    const uint8_t *header = carry_walk_header(walk, HEADER_BYTES);
    if (!header)
        carry_walk_sum(walk, CARRY_PROTOCOL_OSPF, FIELD, HEADER_BYTES, 0, CARRY_ZERO_IS_PLAIN);
    else if (*version == 2)
        list_version_2(walk, header);
    else
        list_version_3(walk, header);
    return CARRY_NEXT_NONE;
}
