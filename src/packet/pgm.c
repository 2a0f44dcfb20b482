/* SPDX-License-Identifier: MIT */
/* PGM (RFC 3208, section 8): the checksum covers everything. Only data packets must have one. */
#include "packet/walk.h"

enum type { TYPE_DATA = 4, TYPE_REPAIR_DATA = 5 };

static enum carry_verdict meaning_of_zero(const uint8_t *header) {
    bool is_data = header[4] == TYPE_DATA || header[4] == TYPE_REPAIR_DATA;
    return is_data ? CARRY_VERDICT_ILLEGAL : CARRY_VERDICT_ABSENT;
}

uint32_t carry_packet_walk_pgm(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    carry_walk_sum(walk, CARRY_PROTOCOL_PGM, 6, carry_walk_size(walk), 0,
                   header ? meaning_of_zero(header) : CARRY_ZERO_IS_PLAIN);
    return CARRY_NEXT_NONE;
}
