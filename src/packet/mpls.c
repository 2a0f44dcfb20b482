/* SPDX-License-Identifier: MIT */
/*
 * MPLS (RFC 3032): labels down to the bottom of the stack. No label announces the content, but its
 * first bits show what it is: an IP version, or one of the numbers of RFC 4385 for pseudowires.
 * These bits mislead if an Ethernet pseudowire has no control word and its first address begins
 * with such bits. IP then fills the Ethernet frame, but not the content.
 */
#include "packet/mpls.h"

/* Returns the content of a channel that tests a pseudowire (RFC 5085, section 8.1). */
static uint32_t content_of_channel(uint32_t type) {
    switch (type) {
    case 0x0021:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 0x0057:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    default:
        return CARRY_NEXT_NONE;
    }
}

/* Checks whether bytes that carry_walk_exact_ethernet() needs were sent, but not captured. */
static bool is_cut_short(const struct carry_walk *walk) {
    return walk->bound - walk->offset >= 24 && !carry_walk_header(walk, 24);
}

static uint32_t mpls_content(struct carry_walk *walk) {
    const uint8_t *content = carry_walk_header(walk, 4);
    if (!content)
        return CARRY_NEXT_NONE;
    bool is_exact_ip = carry_walk_exact_ip(walk) != CARRY_NEXT_NONE;
    if (!is_exact_ip && carry_walk_exact_ethernet(walk) != CARRY_NEXT_NONE)
        return CARRY_NEXT(LINK, 1);
    if (!is_exact_ip && is_cut_short(walk))
        return CARRY_NEXT_NONE;
    switch (content[0] >> 4) {
    case 4:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 6:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case 1:
        walk->offset += 4;
        return content_of_channel(carry_load16(content + 2));
    default:
        break;
    }
    /* The control word of an Ethernet pseudowire begins with 16 zeros (RFC 4448, section 4.6);
       without one, the frame begins with an address. */
    walk->offset += carry_load16(content) == 0 ? 4 : 0;
    return CARRY_NEXT(LINK, 1);
}

uint32_t carry_packet_walk_mpls(struct carry_walk *walk) {
    return carry_mpls_skip_labels(walk) ? mpls_content(walk) : CARRY_NEXT_NONE;
}
