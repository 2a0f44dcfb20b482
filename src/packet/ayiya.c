/* SPDX-License-Identifier: MIT */
/*
 * AYIYA (draft-massar-v6ops-ayiya-02, section 4), the tunnel of SixXS: sizes and methods, the next
 * header, the time, an identity, a signature. It is recognised by an IP packet that fills the rest
 * exactly.
 */
#include "packet/walk.h"

#define OPERATION 0x0f
#define FORWARD   1

uint32_t carry_packet_walk_ayiya(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 8);
    if (!header || (header[2] & OPERATION) != FORWARD)
        return CARRY_NEXT_NONE;
    uint32_t identity = 1u << (header[0] >> 4), signature = (header[1] >> 4) * 4u;
    return carry_walk_take(walk, 8 + identity + signature) ? carry_walk_exact_ip(walk)
                                                           : CARRY_NEXT_NONE;
}
