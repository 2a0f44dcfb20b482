/* SPDX-License-Identifier: MIT */
/* Radiotap (radiotap.org), before an 802.11 header: fields that a bit mask announces. */
#include "packet/ieee80211.h"

#define PRESENT_TSFT  0x00000001
#define PRESENT_FLAGS 0x00000002
#define PRESENT_MORE  0x80000000 /* another mask follows */

#define FLAG_PADDED 0x20

/* Returns the field `flags`, or 0 if it is absent. Only the time stamp may precede it. */
static uint8_t radiotap_flags(const uint8_t *header, uint32_t size) {
    uint32_t present = carry_load_le32(header + 4);
    uint32_t fields = 8;
    for (uint32_t mask = present; mask & PRESENT_MORE && fields + 4 <= size; fields += 4)
        mask = carry_load_le32(header + fields);
    if (present & PRESENT_TSFT)
        fields = ((fields + 7) & ~7u) + 8;
    return present & PRESENT_FLAGS && fields < size ? header[fields] : 0;
}

uint32_t carry_packet_walk_radiotap(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = carry_load_le16(header + 2);
    if (header[0] != 0 || size < 8 || !carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    bool padded = radiotap_flags(header, size) & FLAG_PADDED;
    return carry_walk_ieee80211(walk, padded ? CARRY_IEEE80211_PADDED : CARRY_IEEE80211_PLAIN);
}
