/* SPDX-License-Identifier: MIT */
/* Two headers that announce a network protocol on wide-area links: SNAP, and NLPID (one byte). */
#ifndef CARRY_PACKET_SNAP_H
#define CARRY_PACKET_SNAP_H

#include "packet/walk.h"

/* LLC headers (IEEE 802.2) of frames with a SNAP header or an NLPID: three bytes. */
#define CARRY_LLC_SNAP  0xaaaa03
#define CARRY_LLC_NLPID 0xfefe03

#define CARRY_SNAP_ETHERTYPE        0x000000
#define CARRY_SNAP_BRIDGED          0x0080c2 /* the organisation IEEE 802.1 */
#define CARRY_SNAP_ETHERNET_AND_FCS 0x0001
#define CARRY_SNAP_ETHERNET         0x0007

/*
 * Returns the protocol after a SNAP header, which holds an organisation and a type (RFC 2427,
 * section 4; RFC 2684, section 5). `padding` is the number of bytes before a bridged frame.
 */
static inline uint32_t carry_walk_snap(struct carry_walk *walk, uint32_t padding) {
    const uint8_t *header = carry_walk_take(walk, 5);
    if (!header)
        return CARRY_NEXT_NONE;
    uint32_t organisation = carry_load32(header) >> 8, type = carry_load16(header + 3);
    if (organisation == CARRY_SNAP_ETHERTYPE)
        return CARRY_NEXT(ETHERTYPE, type);
    bool is_ethernet = organisation == CARRY_SNAP_BRIDGED &&
                       (type == CARRY_SNAP_ETHERNET || type == CARRY_SNAP_ETHERNET_AND_FCS);
    return is_ethernet && carry_walk_take(walk, padding) ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}

/* Returns the protocol after a network layer protocol identifier (NLPID, ISO/IEC TR 9577). */
static inline uint32_t carry_walk_nlpid(struct carry_walk *walk, uint32_t padding) {
    const uint8_t *identifier = carry_walk_take(walk, 1);
    switch (identifier ? *identifier : 0) {
    case 0x80:
        return carry_walk_snap(walk, padding);
    case 0x8e:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case 0xcc:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 0xcf:
        return CARRY_NEXT(LINK, 9);
    default:
        return CARRY_NEXT_NONE;
    }
}

#endif
