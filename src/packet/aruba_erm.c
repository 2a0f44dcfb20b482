/* SPDX-License-Identifier: MIT */
/*
 * Frames that Aruba's access points mirror, in one of these formats: a record of a capture file,
 * with or without 4 bytes of a radio header, as the size of the frame shows; PPI; radiotap; or
 * OmniPeek's header.
 */
#include "packet/ieee80211.h"

#define RECORD_SIZE       16
#define RADIO_SIZE        4
#define MICROSECONDS      1000000
#define UDP_PORT_OMNIPEEK 5000

enum linktype { LINKTYPE_RADIOTAP = 127, LINKTYPE_PPI = 192 };

/* Returns the size of a record's header, or 0 if there is no record. */
static uint32_t record_size(const struct carry_walk *walk, const uint8_t *header) {
    uint32_t there = carry_load32(header + 8), room = carry_walk_size(walk) - RECORD_SIZE;
    if (carry_load32(header + 4) >= MICROSECONDS || there > carry_load32(header + 12))
        return 0;
    if (there == room)
        return RECORD_SIZE;
    return there + RADIO_SIZE == room ? RECORD_SIZE + RADIO_SIZE : 0;
}

uint32_t carry_packet_walk_aruba_erm(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, RECORD_SIZE);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t size = record_size(walk, header);
    if (size)
        return carry_walk_take(walk, size) ? CARRY_NEXT(LINK, CARRY_LINKTYPE_IEEE80211)
                                           : CARRY_NEXT_NONE;
    if (header[0] == 0 && carry_load_le32(header + 4) == CARRY_LINKTYPE_IEEE80211)
        return CARRY_NEXT(LINK, LINKTYPE_PPI);
    return carry_load16(header) == 0 ? CARRY_NEXT(LINK, LINKTYPE_RADIOTAP)
                                     : CARRY_NEXT(UDP, UDP_PORT_OMNIPEEK);
}
