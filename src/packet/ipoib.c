/* SPDX-License-Identifier: MIT */
/* IP over InfiniBand (RFC 4391, section 6), after a global route header of 40 bytes. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ipoib(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 44);
    if (!header)
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header + 40));
}
