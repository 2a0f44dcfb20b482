/* SPDX-License-Identifier: MIT */
/*
 * CAPWAP data (RFC 5415, section 4.3): frames between access points and their controller. The walk
 * ends at keep-alives, at frames in DTLS, and at fragments except the first.
 */
#include "packet/ieee80211.h"

/* Fields of the first 32 bits; the preamble is version and type. */
#define PREAMBLE   0xff000000
#define BINDING    0x00003e00
#define NATIVE     0x00000100 /* frames in the format of the wireless binding, otherwise Ethernet */
#define FRAGMENT   0x00000080
#define KEEP_ALIVE 0x00000008
#define RESERVED   0x00000007

#define BINDING_IEEE80211 0x00000200

uint32_t carry_packet_walk_capwap(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t first = carry_load32(header);
    uint32_t size = (header[1] >> 3) * 4u;
    bool is_later_fragment = carry_load16(header + 6);
    bool other = first & (PREAMBLE | KEEP_ALIVE | RESERVED) || is_later_fragment;
    if (other || size < 8 || !carry_walk_take(walk, size))
        return CARRY_NEXT_NONE;
    if (first & FRAGMENT)
        walk->beyond = CARRY_REASON_FRAGMENT;
    if (!(first & NATIVE))
        return CARRY_NEXT(ETHERTYPE, 0x6558);
    if ((first & BINDING) != BINDING_IEEE80211)
        return CARRY_NEXT_NONE;
    return carry_walk_ieee80211(walk, CARRY_IEEE80211_SWAPPED);
}
