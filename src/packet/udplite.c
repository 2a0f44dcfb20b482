/* SPDX-License-Identifier: MIT */
/*
 * UDP-Lite (RFC 3828): the checksum covers as many bytes as the coverage field says; 0 stands for
 * all. The pseudo-header holds the length of the datagram, not the coverage.
 */
#include "packet/walk.h"

uint32_t carry_packet_walk_udplite(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = carry_walk_size(walk);
    uint32_t coverage = header ? carry_load16(header + 4) : 0;
    /* A coverage smaller than the header is illegal. It does not include the whole field, so the
     * sum is malformed. */
    carry_walk_sum(walk, CARRY_PROTOCOL_UDPLITE, 6, coverage ? coverage : size,
                   carry_walk_pseudo(walk, 136, size), CARRY_VERDICT_ILLEGAL);
    return CARRY_NEXT_NONE;
}
