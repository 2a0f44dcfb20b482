/* SPDX-License-Identifier: MIT */
/*
 * User packets of mobile networks: GTP-U (3GPP TS 29.281), and version 0 of GTP (GSM 09.60). They
 * are recognised by their length: it equals that of the datagram, or is smaller and equals that of
 * an IP packet. The walk ignores bytes after that packet, as receivers do.
 */
#include "packet/walk.h"

#define USER_PACKET 255

/* Version 1: if any of three flags is set, 4 bytes follow; the last is the type of an extension. */
#define VERSION_1  0x30
#define EXTENSIONS 0x04
#define OPTIONAL   0x07

/* Version 0: always 20 bytes. The last bit is a flag. */
#define VERSION_0 0x1e

static bool skip_bytes(struct carry_walk *walk, uint32_t size) {
    if (!carry_walk_header(walk, size))
        return false;
    walk->offset += size;
    return true;
}

/* Skips extensions. Each starts with its size in units of 4 bytes, and ends with the next type. */
static bool skip_gtp_extensions(struct carry_walk *walk) {
    while (walk->data[walk->offset - 1] != 0) {
        const uint8_t *header = carry_walk_header(walk, 1);
        if (!header || header[0] == 0 || !skip_bytes(walk, header[0] * 4u))
            return false;
    }
    return true;
}

static bool skip_version_1(struct carry_walk *walk, uint32_t flags) {
    carry_walk_narrow_scope(walk, carry_load32(walk->data + walk->offset + 4));
    if (!skip_bytes(walk, flags & OPTIONAL ? 12 : 8))
        return false;
    return !(flags & EXTENSIONS) || skip_gtp_extensions(walk);
}

/* Skips a header of version 0. The subscriber and a context identify its tunnel. */
static bool skip_version_0(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 20);
    if (!header)
        return false;
    carry_walk_narrow_scope(walk, carry_load32(header + 12));
    carry_walk_narrow_scope(walk, carry_load32(header + 16));
    return true;
}

uint32_t carry_packet_walk_gtp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || header[1] != USER_PACKET)
        return CARRY_NEXT_NONE;
    uint32_t flags = header[0];
    bool is_version_1 = (flags & ~OPTIONAL) == VERSION_1;
    uint32_t size = carry_load16(header + 2) + (is_version_1 ? 8 : 20);
    uint32_t room = carry_walk_size(walk);
    if ((!is_version_1 && (flags & ~1u) != VERSION_0) || size > room)
        return CARRY_NEXT_NONE;
    carry_walk_limit(walk, size);
    if (!(is_version_1 ? skip_version_1(walk, flags) : skip_version_0(walk)))
        return CARRY_NEXT_NONE;
    return size == room ? carry_walk_ip_version(walk) : carry_walk_exact_ip(walk);
}
