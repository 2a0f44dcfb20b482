/* SPDX-License-Identifier: MIT */
/*
 * DCCP (RFC 4340, section 9). The checksum covers the header, whose length is the data offset, and
 * some of the data: one word less than the checksum coverage states, or all data if the coverage is
 * 0. The pseudo-header holds the length of the datagram, not the number of covered bytes.
 */
#include "packet/walk.h"

static uint32_t covered_size(const uint8_t *header, uint32_t size) {
    uint32_t coverage = header[5] & 15;
    return coverage ? (header[4] + coverage - 1) * 4 : size;
}

uint32_t carry_packet_walk_dccp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = carry_walk_size(walk);
    carry_walk_sum(walk, CARRY_PROTOCOL_DCCP, 6, header ? covered_size(header, size) : size,
                   carry_walk_pseudo(walk, 33, size), CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
