/* SPDX-License-Identifier: MIT */
/* The hop-by-hop and destination options headers of IPv6 (RFC 8200, sections 4.3 and 4.6). */
#include "packet/walk.h"

enum option { OPTION_PAD1 = 0x00, OPTION_JUMBO = 0xc2, OPTION_HOME_ADDRESS = 0xc9 };

/*
 * Sets the end of a jumbogram (RFC 2675). Its length is in the hop-by-hop options, which directly
 * follow the IPv6 header.
 */
static void read_jumbo(struct carry_walk *walk, const uint8_t *value) {
    uint32_t first = walk->network + 40;
    if (walk->offset != first || carry_load16(walk->data + walk->network + 4) != 0)
        return;
    uint32_t size = carry_load32(value);
    if (size > UINT16_MAX)
        carry_walk_set_end(walk, first + (uint64_t)size);
    else
        carry_walk_mark_unverifiable(walk, CARRY_REASON_MALFORMED);
}

/* Applies an option. Returns false if its size is wrong. */
static bool read_option(struct carry_walk *walk, const uint8_t *option) {
    switch (option[0]) {
    case OPTION_JUMBO:
        if (option[1] != 4)
            return false;
        read_jumbo(walk, option + 2);
        return true;
    case OPTION_HOME_ADDRESS:
        if (option[1] != 16)
            return false;
        /* Pseudo-headers hold the home address as their source (RFC 6275, section 9.3.1). */
        walk->src = option + 2;
        return true;
    default:
        return true;
    }
}

/* Applies all options. Returns false if one is wrong or goes beyond the header of `size` bytes. */
static bool read_ipv6_options(struct carry_walk *walk, const uint8_t *header, uint32_t size) {
    for (uint32_t i = 2; i < size;) {
        if (header[i] == OPTION_PAD1) {
            i++;
            continue;
        }
        if (i + 1 == size || header[i + 1] > size - i - 2 || !read_option(walk, header + i))
            return false;
        i += 2u + header[i + 1];
    }
    return true;
}

uint32_t carry_packet_walk_ipv6_options(struct carry_walk *walk) {
    uint32_t size;
    const uint8_t *header = carry_walk_extension(walk, &size);
    if (!header)
        return CARRY_NEXT_NONE;
    /* Receivers drop such a packet (RFC 8200, section 4.2): no rule says which address counts. */
    if (!read_ipv6_options(walk, header, size))
        carry_walk_mark_unverifiable(walk, CARRY_REASON_MALFORMED);
    walk->offset += size;
    return CARRY_NEXT(IP, header[0]);
}
