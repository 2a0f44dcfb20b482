/* SPDX-License-Identifier: MIT */
/*
 * The routing header of IPv6 (RFC 8200, section 4.4). While it has segments left, the IPv6 header
 * holds the next hop, but pseudo-headers hold the final destination (section 8.1).
 */
#include "packet/walk.h"

enum type {
    TYPE_SOURCE_ROUTE = 0,    /* RFC 2460: the hops in order */
    TYPE_MOBILE = 2,          /* RFC 6275: one hop, the home address */
    TYPE_RPL = 3,             /* RFC 6554: the hops in order, without their common prefix */
    TYPE_SEGMENT_ROUTING = 4, /* RFC 8754: the hops in reverse */
};

/* Sets walk->dst, as the next two functions do. Returns false if the header contradicts itself. */
static bool follow_source_route(struct carry_walk *walk, const uint8_t *header, uint32_t size) {
    uint32_t hops = (size - 8) / 16;
    if ((size - 8) % 16 != 0 || header[3] > hops)
        return false;
    walk->dst = header + size - 16;
    return true;
}

static bool follow_rpl(struct carry_walk *walk, const uint8_t *header, uint32_t size) {
    uint32_t elided = header[4] % 16;
    uint32_t pad = header[5] / 16;
    uint32_t before_last = (header[3] - 1u) * (16 - header[4] / 16);
    if (8 + before_last + 16 - elided + pad > size)
        return false;
    const uint8_t *last = header + size - pad - (16 - elided);
    for (uint32_t i = 0; i < 16; i++)
        walk->cold->final_dst[i] = i < elided ? walk->dst[i] : last[i - elided];
    walk->dst = walk->cold->final_dst;
    return true;
}

static bool follow_segments(struct carry_walk *walk, const uint8_t *header, uint32_t size) {
    uint32_t segments = header[4] + 1u;
    if (8 + segments * 16 > size || header[3] > segments)
        return false;
    walk->dst = header + 8;
    return true;
}

static enum carry_reason follow_route(struct carry_walk *walk, const uint8_t *header,
                                      uint32_t size) {
    bool consistent;
    switch (header[2]) {
    case TYPE_SOURCE_ROUTE:
    case TYPE_MOBILE:
        consistent = follow_source_route(walk, header, size);
        break;
    case TYPE_RPL:
        consistent = follow_rpl(walk, header, size);
        break;
    case TYPE_SEGMENT_ROUTING:
        consistent = follow_segments(walk, header, size);
        break;
    default:
        return CARRY_REASON_ROUTING;
    }
    return consistent ? CARRY_REASON_NONE : CARRY_REASON_MALFORMED;
}

uint32_t carry_packet_walk_ipv6_routing(struct carry_walk *walk) {
    uint32_t size;
    const uint8_t *header = carry_walk_extension(walk, &size);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t segments_left = header[3];
    if (segments_left)
        carry_walk_mark_unverifiable(walk, follow_route(walk, header, size));
    walk->offset += size;
    return CARRY_NEXT(IP, header[0]);
}
