/* SPDX-License-Identifier: MIT */
/*
 * MACsec (IEEE 802.1AE): a security tag, then the protected data, which begin with an ethertype,
 * then the check value. The walk ends at data that are encrypted or changed.
 */
#include "packet/walk.h"

#define VERSION   0x80
#define HAS_SCI   0x20
#define ENCRYPTED 0x08
#define CHANGED   0x04
#define SIZE_MASK 0x3f /* of the protected data if they are short, otherwise 0 */

uint32_t carry_packet_walk_macsec(struct carry_walk *walk) {
    const uint8_t *tag = carry_walk_header(walk, 6);
    if (!tag || tag[0] & (VERSION | ENCRYPTED | CHANGED))
        return CARRY_NEXT_NONE;
    if (!carry_walk_take(walk, tag[0] & HAS_SCI ? 14 : 6))
        return CARRY_NEXT_NONE;
    if (tag[1] & SIZE_MASK)
        carry_walk_limit(walk, tag[1] & SIZE_MASK);
    return carry_walk_typed(walk, 2);
}
