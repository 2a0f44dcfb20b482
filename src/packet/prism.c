/* SPDX-License-Identifier: MIT */
/*
 * Headers of wlan-ng drivers before an 802.11 header: the Prism header of constant size, or the AVS
 * header, which holds its size. Old drivers announce both as Prism.
 */
#include "packet/ieee80211.h"

#define AVS_COOKIE      0x80211000
#define AVS_COOKIE_MASK 0xfffff000
#define PRISM_SIZE      144

uint32_t carry_packet_walk_prism(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    bool avs = (carry_load32(header) & AVS_COOKIE_MASK) == AVS_COOKIE;
    uint32_t size = avs ? carry_load32(header + 4) : PRISM_SIZE;
    if (!carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(LINK, CARRY_LINKTYPE_IEEE80211);
}
