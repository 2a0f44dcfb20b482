/* SPDX-License-Identifier: MIT */
/*
 * PPP (RFC 1661), with or without the address and control of HDLC-like framing (RFC 1662, section
 * 3.1). Routers also write Cisco HDLC into captures of PPP: its address distinguishes it.
 */
#include "packet/walk.h"

#define ADDRESS_AND_CONTROL 0xff03

enum { CISCO_UNICAST = 0x0f, CISCO_BROADCAST = 0x8f };

/* Returns the content, by the numbers of RFC 1332, RFC 5072 and RFC 3032 (section 4.3). */
static uint32_t ppp_content(uint32_t protocol) {
    switch (protocol) {
    case 0x0021:
        return CARRY_NEXT(ETHERTYPE, 0x0800);
    case 0x0057:
        return CARRY_NEXT(ETHERTYPE, 0x86dd);
    case 0x0281:
    case 0x0283:
        return CARRY_NEXT(ETHERTYPE, 0x8847);
    default:
        return CARRY_NEXT_NONE;
    }
}

uint32_t carry_packet_walk_ppp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 2);
    if (!header)
        return CARRY_NEXT_NONE;
    if (header[0] == CISCO_UNICAST || header[0] == CISCO_BROADCAST)
        return CARRY_NEXT(LINK, 104);
    if (carry_load16(header) == ADDRESS_AND_CONTROL) {
        walk->offset += 2;
        header = carry_walk_header(walk, 2);
        if (!header)
            return CARRY_NEXT_NONE;
    }
    /* Only the last byte of a protocol is odd: the first may be omitted (RFC 1661, section 6.5). */
    uint32_t size = header[0] & 1 ? 1 : 2;
    walk->offset += size;
    return ppp_content(size == 1 ? header[0] : carry_load16(header));
}
