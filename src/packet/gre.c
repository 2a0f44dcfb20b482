/* SPDX-License-Identifier: MIT */
/*
 * GRE (RFC 2784, with the key and sequence number of RFC 2890, and the source routes of RFC 1701),
 * and its version 1, which carries PPP in PPTP (RFC 2637).
 */
#include "packet/ieee80211.h"

#define CHECKSUM       0x8000
#define ROUTING        0x4000
#define KEY            0x2000
#define SEQUENCE       0x1000
#define ACKNOWLEDGMENT 0x0080 /* version 1 only */
#define VERSION        0x0007

enum type {
    TYPE_ETHERNET = 0x6558,
    TYPE_EOIP = 0x6400,
    TYPE_WCCP = 0x883e,
    TYPE_ERSPAN = 0x88be,
    TYPE_ARUBA_FIRST = 0x8200, /* and each 16th number up to the last: frames of IEEE 802.11 */
    TYPE_ARUBA_LAST = 0x8370,
};

/* Returns the size of the optional fields: each flag adds 4 bytes. */
static uint32_t optional_size(uint32_t flags) {
    return (flags & KEY ? 4 : 0) + (flags & SEQUENCE ? 4 : 0) + (flags & ACKNOWLEDGMENT ? 4 : 0);
}

static bool is_aruba(uint32_t type) {
    return type >= TYPE_ARUBA_FIRST && type <= TYPE_ARUBA_LAST && type % 16 == 0;
}

/*
 * Returns the protocol of a packet that WCCP redirects. Version 2 puts 4 bytes before it; these
 * differ from the start of any IPv4 header.
 */
static uint32_t walk_redirected(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    if (header && header[0] >> 4 != 4)
        walk->offset += 4;
    return carry_walk_ip_version(walk);
}

/* Returns the protocol that a type announces: nearly all types are ethertypes. */
static uint32_t walk_gre_content(struct carry_walk *walk, uint32_t flags, uint32_t type) {
    /* Without a sequence number, this type is ERSPAN type I, which has no header of its own. */
    bool bare = type == TYPE_ERSPAN && !(flags & SEQUENCE);
    if (bare || type == TYPE_EOIP)
        return CARRY_NEXT(ETHERTYPE, TYPE_ETHERNET);
    if (type == TYPE_WCCP)
        return walk_redirected(walk);
    return is_aruba(type) ? CARRY_NEXT(LINK, CARRY_LINKTYPE_IEEE80211)
                          : CARRY_NEXT(ETHERTYPE, type);
}

/* Skips the source routes. The last route has address family 0 and no bytes. Returns false if it is
 * missing. */
static bool skip_routes(struct carry_walk *walk) {
    for (const uint8_t *route; (route = carry_walk_take(walk, 4));) {
        if (carry_load16(route) == 0 && route[3] == 0)
            return true;
        if (!carry_walk_take(walk, route[3]))
            return false;
    }
    return false;
}

/* Walks version 0, and returns the next protocol. The checksum also covers the header. Headers with
 * routes contain the checksum field even without the flag CHECKSUM. */
static uint32_t walk_version_0(struct carry_walk *walk, uint32_t flags, uint32_t type) {
    if (flags & CHECKSUM)
        carry_walk_sum(walk, CARRY_PROTOCOL_GRE, 4, carry_walk_size(walk), 0, CARRY_ZERO_IS_PLAIN);
    uint32_t key = flags & (CHECKSUM | ROUTING) ? 8 : 4; /* offset of the key */
    const uint8_t *header = carry_walk_take(walk, key + optional_size(flags & (KEY | SEQUENCE)));
    if (!header || (flags & ROUTING && !skip_routes(walk)))
        return CARRY_NEXT_NONE;
    if (flags & KEY)
        carry_walk_narrow_scope(walk, carry_load32(header + key));
    return walk_gre_content(walk, flags, type);
}

/* Walks version 1, and returns the next protocol. The key holds the size of the payload, then the
 * number of the call. */
static uint32_t walk_version_1(struct carry_walk *walk, uint32_t flags, uint32_t type) {
    uint32_t size = 4 + optional_size(flags & (KEY | SEQUENCE | ACKNOWLEDGMENT));
    const uint8_t *header = carry_walk_header(walk, size);
    if (!header || !(flags & KEY) || flags & (CHECKSUM | ROUTING))
        return CARRY_NEXT_NONE;
    uint32_t payload = carry_load16(header + 4);
    carry_walk_narrow_scope(walk, carry_load16(header + 6));
    walk->offset += size;
    if (payload > carry_walk_size(walk))
        return CARRY_NEXT_NONE;
    carry_walk_set_end(walk, walk->offset + (uint64_t)payload);
    return walk_gre_content(walk, flags, type);
}

uint32_t carry_packet_walk_gre(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t flags = carry_load16(header), type = carry_load16(header + 2);
    switch (flags & VERSION) {
    case 0:
        return walk_version_0(walk, flags, type);
    case 1:
        return walk_version_1(walk, flags, type);
    default:
        return CARRY_NEXT_NONE;
    }
}
