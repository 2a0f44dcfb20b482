/* SPDX-License-Identifier: MIT */
/*
 * ARCNET as BSD records it: two addresses, then a type. IP has one type with fragments (RFC 1201,
 * section 2.2, and RFC 2497 for IPv6) and an earlier one without (RFC 1051).
 */
#include "packet/arcnet.h"

enum type { TYPE_IPV6 = 0xc4, TYPE_IP = 0xd4, TYPE_IP_WHOLE = 0xf0 };

#define SPLIT_EXCEPTION 0xff /* a packet of 253 to 255 bytes: the whole header follows again */
#define SPLIT_FIRST     0x01 /* set in the first fragment, clear in all others */

/* Moves past the split flag and the sequence number. Returns false for fragments except the
 * first. */
static bool enter_frame(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 3);
    if (header && header[0] == SPLIT_EXCEPTION) {
        header = carry_walk_take(walk, 4);
        header = header ? header + 1 : NULL;
    }
    if (!header || (header[0] && !(header[0] & SPLIT_FIRST)))
        return false;
    if (header[0])
        walk->beyond = CARRY_REASON_FRAGMENT;
    return true;
}

uint32_t carry_walk_arcnet(struct carry_walk *walk) {
    const uint8_t *type = carry_walk_take(walk, 1);
    switch (type ? *type : 0) {
    case TYPE_IP:
        return enter_frame(walk) ? CARRY_NEXT(ETHERTYPE, 0x0800) : CARRY_NEXT_NONE;
    case TYPE_IPV6:
        return enter_frame(walk) ? CARRY_NEXT(ETHERTYPE, 0x86dd) : CARRY_NEXT_NONE;
    case TYPE_IP_WHOLE:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_arcnet(struct carry_walk *walk) {
    return carry_walk_take(walk, 2) ? carry_walk_arcnet(walk) : CARRY_NEXT_NONE;
}
