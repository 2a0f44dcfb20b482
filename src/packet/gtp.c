/* SPDX-License-Identifier: MIT */
/*
 * User packets of mobile networks: GTP-U (3GPP TS 29.281), and version 0 of GTP (GSM 09.60). Their
 * content is IP or, in some sessions, Ethernet (TS 23.501, section 5.6.10.2); only the two ends
 * know which. Like receivers, the walk ignores bytes after the length in GTP's header. Content is
 * recognised by an IP packet that fills it. IP that does not fill it is recognised only if that
 * length matches the datagram's.
 */
#include "packet/walk.h"

#define USER_PACKET 255

/* Version 1: if any of three flags is set, 4 bytes follow; the last is the type of an extension. */
#define VERSION_1  0x30
#define SPARE      0x08 /* receivers ignore it (TS 29.281, section 5.1) */
#define EXTENSIONS 0x04
#define OPTIONAL   0x07

#define ETHERNET_GROUP 0x01 /* in the first byte of a destination address: not one station */

/* Version 0: the header always has 20 bytes. The last bit of its first byte is a flag. */
#define VERSION_0 0x1e

static bool skip_bytes(struct carry_walk *walk, uint32_t size) {
    if (!carry_walk_header(walk, size))
        return false;
    walk->offset += size;
    return true;
}

/* Skips extensions. Each starts with its size in units of 4 bytes, and ends with the next type.
 * Returns false if an extension is damaged or not readable. */
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

/* Skips a header of version 0. Returns false if it is not readable. The subscriber and a context
 * identify its tunnel. */
static bool skip_version_0(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 20);
    if (!header)
        return false;
    carry_walk_narrow_scope(walk, carry_load32(header + 12));
    carry_walk_narrow_scope(walk, carry_load32(header + 16));
    return true;
}

/* Checks for a first byte that no address of one station has: IPv4 without options begins so. */
static bool is_no_station(const struct carry_walk *walk) {
    const uint8_t *packet = carry_walk_header(walk, 1);
    return packet && packet[0] & ETHERNET_GROUP;
}

/*
 * Returns the protocol of the user packet. If GTP's header is `plain`, IP whose length differs is
 * accepted, too, unless it may be an Ethernet frame.
 */
static uint32_t find_user_packet(struct carry_walk *walk, bool plain) {
    uint32_t next = carry_walk_exact_ip(walk);
    if (next == CARRY_NEXT_NONE)
        next = carry_walk_exact_ethernet(walk);
    if (next == CARRY_NEXT_NONE && plain && is_no_station(walk))
        next = carry_walk_ip_version(walk);
    return next;
}

uint32_t carry_packet_walk_gtp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || header[1] != USER_PACKET)
        return CARRY_NEXT_NONE;
    uint32_t flags = header[0];
    bool is_version_1 = (flags & ~(SPARE | OPTIONAL)) == VERSION_1;
    uint32_t size = carry_load16(header + 2) + (is_version_1 ? 8 : 20);
    uint32_t room = carry_walk_size(walk);
    if ((!is_version_1 && (flags & ~1u) != VERSION_0) || size > room)
        return CARRY_NEXT_NONE;
    carry_walk_limit(walk, size);
    if (!(is_version_1 ? skip_version_1(walk, flags) : skip_version_0(walk)))
        return CARRY_NEXT_NONE;
    return find_user_packet(walk, size == room && !(is_version_1 && flags & SPARE));
}
