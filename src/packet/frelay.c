/* SPDX-License-Identifier: MIT */
/*
 * Frame Relay (RFC 2427, section 3): an address of 2 to 4 bytes (Q.922, section 3.2), then control
 * and a protocol identifier. In Cisco's encapsulation, an ethertype replaces control and
 * identifier.
 */
#include "packet/snap.h"

#define ADDRESS_END  0x01
#define CIRCUIT      0xfcf0 /* in the first two bytes of the address; their other bits are flags */
#define UNNUMBERED   0x03
#define ADDRESS_SIZE 4 /* maximum */

/* Returns the size of the address, or 0 if it is missing or has no end. */
static uint32_t frelay_address_size(const struct carry_walk *walk) {
    for (uint32_t size = 2; size <= ADDRESS_SIZE; size++) {
        const uint8_t *address = carry_walk_header(walk, size);
        if (!address || address[0] & ADDRESS_END)
            return 0;
        if (address[size - 1] & ADDRESS_END)
            return size;
    }
    return 0;
}

uint32_t carry_packet_walk_frelay(struct carry_walk *walk) {
    uint32_t size = frelay_address_size(walk);
    const uint8_t *header = carry_walk_header(walk, size + 2);
    if (size == 0 || !header)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load16(header) & CIRCUIT);
    const uint8_t *content = header + size;
    bool is_cisco = content[0] != UNNUMBERED;
    bool is_padded = content[1] == 0;
    walk->offset += size + (is_cisco || is_padded ? 2 : 1);
    return is_cisco ? CARRY_NEXT(ETHERTYPE, carry_load16(content)) : carry_walk_nlpid(walk, 0);
}
