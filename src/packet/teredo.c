/* SPDX-License-Identifier: MIT */
/*
 * Teredo (RFC 4380): optional indications of authentication and origin, then an IPv6 packet, whose
 * addresses show that this is Teredo.
 */
#include "packet/walk.h"

enum indication { INDICATION_ORIGIN = 0, INDICATION_AUTHENTICATION = 1 };

/* Returns the size of the indication at `offset` (section 5.1.1), or 0 if there is none. */
static uint32_t indication_size(const struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    if (!header)
        return 0;
    switch (carry_load16(header)) {
    case INDICATION_ORIGIN:
        return 8;
    case INDICATION_AUTHENTICATION:
        return 4u + header[2] + header[3] + 8 + 1;
    default:
        return 0;
    }
}

/* Checks whether one of the two addresses is Teredo's. A source that has no such address uses its
 * link-local address. */
static bool is_teredo(const uint8_t *src, const uint8_t *dst) {
    enum { PREFIX = 0x20010000 };
    return carry_load32(src) == PREFIX || carry_load32(dst) == PREFIX ||
           carry_load32(src) == 0xfe800000;
}

uint32_t carry_packet_walk_teredo(struct carry_walk *walk) {
    for (uint32_t size; (size = indication_size(walk)) != 0; walk->offset += size)
        if (!carry_walk_header(walk, size))
            return CARRY_NEXT_NONE;
    const uint8_t *header = carry_walk_header(walk, 40);
    bool fits = header && carry_load16(header + 4) + 40 <= carry_walk_size(walk);
    return fits && is_teredo(header + 8, header + 24) ? CARRY_NEXT(ETHERTYPE, 0x86dd)
                                                      : CARRY_NEXT_NONE;
}
