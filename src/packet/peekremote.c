/* SPDX-License-Identifier: MIT */
/*
 * Frames that access points send to OmniPeek: a radio header, then a frame of IEEE 802.11. The
 * newer header has a magic number and a size; the older one is recognised by the size of the frame.
 */
#include "packet/ieee80211.h"

#define MAGIC      0x00ffabcd
#define SIZE_MIN   9
#define SIZE_OLDER 20

/* Returns the size of the radio header, or 0 if there is no such header. */
static uint32_t peekremote_header_size(const struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, SIZE_MIN);
    if (!header)
        return 0;
    if (carry_load32(header) == MAGIC)
        return carry_load32(header + 5);
    uint32_t size = carry_load16(header + 2), there = carry_load16(header + 4);
    return there <= size && SIZE_OLDER + there == carry_walk_size(walk) ? SIZE_OLDER : 0;
}

uint32_t carry_packet_walk_peekremote(struct carry_walk *walk) {
    uint32_t size = peekremote_header_size(walk);
    bool is_there = size >= SIZE_MIN && carry_walk_take(walk, size);
    return is_there ? CARRY_NEXT(LINK, CARRY_LINKTYPE_IEEE80211) : CARRY_NEXT_NONE;
}
