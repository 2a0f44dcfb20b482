/* SPDX-License-Identifier: MIT */
/*
 * Records of Endace's cards (ERF types reference guide): a time stamp, a type, flags, the length of
 * the record, losses, the length on the wire; then headers of 8 bytes, each announced by a bit.
 */
#include "packet/walk.h"

#define TYPE_MASK     0x7f
#define HAS_EXTENSION 0x80 /* in the type, and in the first byte of each extension */

/* Before a frame: the number of the channel, and the header of a cell without its checksum. */
#define CHANNEL_BYTES 4
#define ATM_BYTES     4

enum type {
    TYPE_HDLC = 1,
    TYPE_ETHERNET = 2,
    TYPE_AAL5 = 4,
    TYPE_CHANNEL_HDLC = 5,
    TYPE_CHANNEL_AAL5 = 9,
    TYPE_COLOR_HDLC = 10,
    TYPE_COLOR_ETHERNET = 11,
    TYPE_DSM_COLOR_HDLC = 15,
    TYPE_DSM_COLOR_ETHERNET = 16,
    TYPE_COLOR_CHANNEL_HDLC = 17,
    TYPE_COLOR_HASH_HDLC = 19,
    TYPE_COLOR_HASH_ETHERNET = 20,
    TYPE_IPV4 = 22,
    TYPE_IPV6 = 23,
};

static bool skip_erf_extensions(struct carry_walk *walk, bool has_extension) {
    while (has_extension) {
        const uint8_t *extension = carry_walk_take(walk, 8);
        if (!extension)
            return false;
        has_extension = extension[0] & HAS_EXTENSION;
    }
    return true;
}

static uint32_t erf_content(struct carry_walk *walk, uint32_t type) {
    switch (type) {
    case TYPE_ETHERNET:
    case TYPE_COLOR_ETHERNET:
    case TYPE_DSM_COLOR_ETHERNET:
    case TYPE_COLOR_HASH_ETHERNET:
        return carry_walk_take(walk, 2) ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
    case TYPE_HDLC:
    case TYPE_COLOR_HDLC:
    case TYPE_DSM_COLOR_HDLC:
    case TYPE_COLOR_HASH_HDLC:
        return CARRY_NEXT(LINK, 50);
    case TYPE_CHANNEL_HDLC:
    case TYPE_COLOR_CHANNEL_HDLC:
        return carry_walk_take(walk, CHANNEL_BYTES) ? CARRY_NEXT(LINK, 50) : CARRY_NEXT_NONE;
    case TYPE_AAL5:
        return carry_walk_take(walk, ATM_BYTES) ? CARRY_NEXT(LINK, 100) : CARRY_NEXT_NONE;
    case TYPE_CHANNEL_AAL5:
        return carry_walk_take(walk, CHANNEL_BYTES + ATM_BYTES) ? CARRY_NEXT(LINK, 100)
                                                                : CARRY_NEXT_NONE;
    case TYPE_IPV4:
        return CARRY_NEXT(LINK, 228);
    case TYPE_IPV6:
        return CARRY_NEXT(LINK, 229);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_erf(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 16);
    if (!header || !skip_erf_extensions(walk, header[8] & HAS_EXTENSION))
        return CARRY_NEXT_NONE;
    return erf_content(walk, header[8] & TYPE_MASK);
}
