/* SPDX-License-Identifier: MIT */
/*
 * The log of BSD's packet filter (pflog(4)): a header with an address family and with its own size.
 * This size does not include the padding to 4 bytes.
 */
#include "packet/walk.h"

#define SIZE_MIN 45 /* in OpenBSD 3.4, the first version with this header */

uint32_t carry_packet_walk_pflog(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 2);
    if (!header || header[0] < SIZE_MIN || !carry_walk_take(walk, (header[0] + 3u) & ~3u))
        return CARRY_NEXT_NONE;
    return carry_walk_family(header[1]);
}
