/* SPDX-License-Identifier: MIT */
/*
 * VXLAN (RFC 7348), with its group policy (draft-smith-vxlan-group-policy) and generic protocol
 * (draft-ietf-nvo3-vxlan-gpe) extensions. A header whose undefined bits are all zero is recognised.
 * But senders may set undefined bits, because receivers ignore them (RFC 7348, section 5), and also
 * ignore the bits of extensions that they do not support. A header with such bits is recognised
 * only if the Ethernet frame inside holds an IP packet that fills it.
 */
#include "packet/walk.h"

#define GROUP_POLICY  0x80
#define IDENTIFIER    0x08
#define NEXT_PROTOCOL 0x04
#define BROADCAST     0x02
#define MANAGEMENT    0x01

#define DONT_LEARN     0x40 /* with group policy */
#define POLICY_APPLIED 0x08

/* Ethertypes by the protocol number of VXLAN-GPE. Some senders store the number without its
 * flag. */
static const uint16_t ethertypes[] = {0x6558, 0x0800, 0x86dd, 0x6558, 0x894f, 0x8847};

/* Returns the ethertype of the content, or 0 if undefined bits of the header are set. */
static uint32_t ethertype_of(const uint8_t *header) {
    if (header[7] != 0)
        return 0;
    if (header[0] == (GROUP_POLICY | IDENTIFIER))
        return header[1] & ~(DONT_LEARN | POLICY_APPLIED) ? 0 : ethertypes[0];
    bool undefined = header[0] & ~(IDENTIFIER | NEXT_PROTOCOL | BROADCAST | MANAGEMENT) ||
                     header[1] != 0 || header[2] != 0;
    if (undefined || header[3] >= sizeof ethertypes / sizeof *ethertypes)
        return 0;
    return ethertypes[header[3]];
}

uint32_t carry_packet_walk_vxlan(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || !(header[0] & (IDENTIFIER | NEXT_PROTOCOL)))
        return CARRY_NEXT_NONE;
    uint32_t ethertype = ethertype_of(header);
    carry_walk_narrow_scope(walk, carry_load32(header + 4) >> 8);
    walk->offset += 8;
    if (ethertype)
        return CARRY_NEXT(ETHERTYPE, ethertype);
    return header[0] & IDENTIFIER ? carry_walk_exact_ethernet(walk) : CARRY_NEXT_NONE;
}
