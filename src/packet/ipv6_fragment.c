/* SPDX-License-Identifier: MIT */
/* The fragment header of IPv6 (RFC 8200, section 4.5). */
#include "packet/walk.h"

#define FRAGMENT_OFFSET 0xfff8
#define MORE_FRAGMENTS  0x0001

uint32_t carry_packet_walk_ipv6_fragment(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || walk->version != 6)
        return CARRY_NEXT_NONE;
    uint32_t fragment = carry_load16(header + 2);
    walk->offset += 8;
    /* A header with neither an offset nor the flag is an atomic fragment (RFC 6946): a whole
     * datagram. */
    if (fragment & (FRAGMENT_OFFSET | MORE_FRAGMENTS))
        return carry_walk_fragment(walk, header[0], carry_load32(header + 4),
                                   fragment & FRAGMENT_OFFSET, fragment & MORE_FRAGMENTS);
    return CARRY_NEXT(IP, header[0]);
}
