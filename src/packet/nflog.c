/* SPDX-License-Identifier: MIT */
/*
 * Linux's netfilter log: the address family, then fields of a size, a type and data, one of which
 * is the packet. Sizes and types are in the byte order of the capturing host.
 */
#include "packet/walk.h"

#define VERSION      0
#define TYPE_PAYLOAD 9

struct field {
    uint32_t size; /* of its header of 4 bytes, too */
    uint32_t type;
};

/* Types are small: in the wrong order they are not. */
static struct field read_field(const uint8_t *header) {
    if (header[2] == 0)
        return (struct field){carry_load16(header), header[3]};
    return (struct field){carry_load_le16(header), carry_load_le16(header + 2)};
}

/* Moves to the data of the packet's field. */
static bool find_payload(struct carry_walk *walk) {
    for (const uint8_t *header; (header = carry_walk_take(walk, 4));) {
        struct field field = read_field(header);
        if (field.size < 4)
            return false;
        if (field.type == TYPE_PAYLOAD) {
            carry_walk_limit(walk, field.size - 4);
            return true;
        }
        if (!carry_walk_take(walk, (field.size - 1) & ~3u)) /* padded to a multiple of 4 */
            return false;
    }
    return false;
}

uint32_t carry_packet_walk_nflog(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header || header[1] != VERSION || !find_payload(walk))
        return CARRY_NEXT_NONE;
    return carry_walk_family(header[0]);
}
