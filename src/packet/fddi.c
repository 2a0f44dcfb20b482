/* SPDX-License-Identifier: MIT */
/* FDDI (ISO 9314-2): frame control and two addresses, then LLC if frame control announces it. */
#include "packet/walk.h"

#define FORMAT_MASK 0xf0 /* class, address size, format */
#define FORMAT_LLC  0x50 /* asynchronous, 48 bits, LLC */

uint32_t carry_packet_walk_fddi(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 13);
    if (!header || (header[0] & FORMAT_MASK) != FORMAT_LLC)
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(ETHERTYPE, 0x0004);
}
