/* SPDX-License-Identifier: MIT */
/* IEEE 802.2 LLC. Only SNAP announces IP: both of its encapsulations name an ethertype. */
#include "packet/snap.h"

#define RFC_1042      0x000000
#define BRIDGE_TUNNEL 0x0000f8 /* IEEE 802.1H */

uint32_t carry_packet_walk_llc(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || carry_load32(header) >> 8 != CARRY_LLC_SNAP)
        return CARRY_NEXT_NONE;
    uint32_t organisation = carry_load32(header + 2) & 0xffffff;
    if (organisation != RFC_1042 && organisation != BRIDGE_TUNNEL)
        return CARRY_NEXT_NONE;
    walk->offset += 8;
    return CARRY_NEXT(ETHERTYPE, carry_load16(header + 6));
}
