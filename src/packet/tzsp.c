/* SPDX-License-Identifier: MIT */
/*
 * TaZmen Sniffer Protocol, with which access points and RouterOS mirror frames: version, type, kind
 * of frame, then fields of a tag, a size and data. Two kinds of field consist only of a tag.
 */
#include "packet/ieee80211.h"

#define VERSION 1

enum type { TYPE_RECEIVED = 0, TYPE_TO_TRANSMIT = 1 };
enum tag { TAG_PADDING = 0, TAG_END = 1 };
enum frame { FRAME_ETHERNET = 0x01, FRAME_IEEE80211 = 0x12, FRAME_PRISM = 0x77, FRAME_AVS = 0x7f };

static bool skip_tags(struct carry_walk *walk) {
    for (const uint8_t *tag; (tag = carry_walk_take(walk, 1)) && *tag != TAG_END;) {
        if (*tag == TAG_PADDING)
            continue;
        const uint8_t *size = carry_walk_take(walk, 1);
        if (!size || !carry_walk_take(walk, *size))
            return false;
    }
    return walk->data[walk->offset - 1] == TAG_END;
}

static uint32_t tzsp_content(uint32_t frame) {
    switch (frame) {
    case FRAME_ETHERNET:
        return CARRY_NEXT(LINK, 1);
    case FRAME_IEEE80211:
        return CARRY_NEXT(LINK, CARRY_LINKTYPE_IEEE80211);
    case FRAME_PRISM:
        return CARRY_NEXT(LINK, 119);
    case FRAME_AVS:
        return CARRY_NEXT(LINK, 163);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_tzsp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    bool is_frame = header && header[0] == VERSION && header[1] <= TYPE_TO_TRANSMIT;
    return is_frame && skip_tags(walk) ? tzsp_content(carry_load16(header + 2)) : CARRY_NEXT_NONE;
}
