/* SPDX-License-Identifier: MIT */
/*
 * Cisco MetaData, which carries a security group tag: 6 bytes, which begin with version and length,
 * then a type field. After GRE, the type field comes first.
 */
#include "packet/walk.h"

#define VERSION_AND_LENGTH 0x0101

uint32_t carry_packet_walk_cisco_metadata(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || carry_load16(header) == VERSION_AND_LENGTH ||
        carry_load16(header + 2) != VERSION_AND_LENGTH)
        return carry_walk_typed(walk, 8);
    walk->offset += 8;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header));
}
