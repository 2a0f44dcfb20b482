/* SPDX-License-Identifier: MIT */
/*
 * The header that Juniper's routers put before each frame: a magic number and flags. If a flag
 * announces extensions, their size and that many bytes follow. The link type names the content.
 */
#ifndef CARRY_PACKET_JUNIPER_H
#define CARRY_PACKET_JUNIPER_H

#include "packet/walk.h"

#define CARRY_JUNIPER_MAGIC          0x4d4743 /* "MGC" */
#define CARRY_JUNIPER_NO_LINK        0x02     /* 4 bytes, then a packet */
#define CARRY_JUNIPER_HAS_EXTENSIONS 0x80

/* Returns the protocol of `linktype`, after the header and `cookie` more bytes. */
static inline uint32_t carry_walk_juniper(struct carry_walk *walk, uint32_t cookie,
                                          uint32_t linktype) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header || carry_load32(header) >> 8 != CARRY_JUNIPER_MAGIC)
        return CARRY_NEXT_NONE;
    if (header[3] & CARRY_JUNIPER_HAS_EXTENSIONS) {
        const uint8_t *size = carry_walk_take(walk, 2);
        if (!size || !carry_walk_take(walk, carry_load16(size)))
            return CARRY_NEXT_NONE;
    }
    bool no_link = header[3] & CARRY_JUNIPER_NO_LINK;
    if (!carry_walk_take(walk, no_link ? 4 : cookie))
        return CARRY_NEXT_NONE;
    return no_link ? carry_walk_ip_version(walk) : CARRY_NEXT(LINK, linktype);
}

#endif
