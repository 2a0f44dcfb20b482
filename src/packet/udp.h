/* SPDX-License-Identifier: MIT */
/* UDP (RFC 768; over IPv6 RFC 8200): the checksum covers as many bytes as UDP's length says. */
#ifndef CARRY_PACKET_UDP_H
#define CARRY_PACKET_UDP_H

#include "packet/walk.h"

/*
 * Returns how many bytes the checksum covers. A stated length of 0 is for datagrams whose size 16
 * bits cannot hold (RFC 2675, section 4); over IPv6, hosts accept it in any datagram.
 */
static inline uint32_t carry_udp_covered_size(const struct carry_walk *walk, uint32_t stated,
                                              uint32_t room) {
    bool too_long_to_state = walk->version == 6 || room > UINT16_MAX;
    return stated == 0 && too_long_to_state ? room : stated;
}

/*
 * Returns the tunnel that the destination port or, in replies, the source port announces, or
 * CARRY_NEXT_NONE. A port is not a proof, because any client may use it: each tunnel also checks
 * that its header is plausible.
 */
static inline uint32_t carry_udp_tunnel_on(const uint8_t *header) {
    uint32_t to = CARRY_NEXT(UDP, carry_load16(header + 2));
    return to != CARRY_NEXT_NONE ? to : CARRY_NEXT(UDP, carry_load16(header));
}

/* Checks whether `next` is a tunnel. SCTP (RFC 6951, section 5.3) and mirrored frames are not. */
static inline bool carry_udp_is_tunnel(uint32_t next) {
    switch (next) {
    case CARRY_NEXT_NONE:
    case CARRY_PROTOCOL_SCTP_UDP:
    case CARRY_PROTOCOL_PEEKREMOTE:
    case CARRY_PROTOCOL_ARUBA_ERM:
    case CARRY_PROTOCOL_HP_ERM:
    case CARRY_PROTOCOL_TZSP:
        return false;
    default:
        return true;
    }
}

/*
 * Returns the verdict on a stored 0. Over IPv4 the sender may omit the checksum. Over IPv6 it must
 * not, except in tunnels on ports for which receivers allow it (RFC 6935, section 5), and except
 * with CARRY_PACKET_UDP6_ZERO_ABSENT.
 */
static inline enum carry_verdict carry_udp_meaning_of_zero(const struct carry_walk *walk,
                                                           uint32_t tunnel) {
    bool may_omit = walk->version == 4 || carry_udp_is_tunnel(tunnel) ||
                    walk->flags & CARRY_PACKET_UDP6_ZERO_ABSENT;
    return may_omit ? CARRY_VERDICT_ABSENT : CARRY_VERDICT_ILLEGAL;
}

/* Enters a datagram of `size` bytes and returns `tunnel`, or CARRY_NEXT_NONE if the size
 * contradicts the IP header. */
static inline uint32_t carry_udp_enter(struct carry_walk *walk, uint32_t size, uint32_t tunnel) {
    uint64_t end = walk->offset + (uint64_t)size;
    bool fits = end <= walk->end || walk->why_unverifiable == CARRY_REASON_FRAGMENT;
    if (size < 8 || !fits)
        return CARRY_NEXT_NONE;
    walk->offset += 8;
    carry_walk_set_end(walk, end);
    return tunnel;
}

CARRY_ALWAYS_INLINE uint32_t carry_packet_walk_udp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    uint32_t size = carry_walk_size(walk);
    uint32_t tunnel = CARRY_NEXT_NONE;
    if (header) {
        size = carry_udp_covered_size(walk, carry_load16(header + 4), size);
        tunnel = carry_udp_tunnel_on(header);
    }
    carry_walk_sum(walk, CARRY_PROTOCOL_UDP, 6, size, carry_walk_pseudo(walk, 17, size),
                   carry_udp_meaning_of_zero(walk, tunnel));
    return tunnel == CARRY_NEXT_NONE ? CARRY_NEXT_NONE : carry_udp_enter(walk, size, tunnel);
}

#endif
