/* SPDX-License-Identifier: MIT */
/* OpenBSD's view into IPsec (enc): address family, SPI and flags, then the packet in clear. */
#include "packet/walk.h"

uint32_t carry_packet_walk_enc(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 12);
    if (!header)
        return CARRY_NEXT_NONE;
    return carry_walk_family(carry_load_family(header));
}
