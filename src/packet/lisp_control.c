/* SPDX-License-Identifier: MIT */
/* LISP control (RFC 9301): type 8 wraps another control message with its IP and UDP headers. */
#include "packet/walk.h"

#define ENCAPSULATED 0x8
#define SECURITY     0x08 /* authentication data of unknown size precede the message */

uint32_t carry_packet_walk_lisp_control(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_header(walk, 4);
    if (!header || header[0] >> 4 != ENCAPSULATED || header[0] & SECURITY)
        return CARRY_NEXT_NONE;
    walk->offset += 4;
    return carry_walk_exact_ip(walk);
}
