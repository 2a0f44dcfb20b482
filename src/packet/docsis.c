/* SPDX-License-Identifier: MIT */
/*
 * Frames of cable modems (DOCSIS 3.1, MULPI, section 6.2): frame control, a size or a count, a
 * length, an extended header if frame control announces it, a check sequence; in packets, Ethernet
 * follows. The extended header of baseline privacy announces encrypted content.
 */
#include "packet/walk.h"

#define TYPE_MASK    0xfe /* with the parameter, which is 0 in packets */
#define TYPE_PACKET  0x00
#define HAS_EXTENDED 0x01

enum element { ELEMENT_PRIVACY_UP = 3, ELEMENT_PRIVACY_DOWN = 4, ELEMENT_PRIVACY_UP_2 = 7 };

#define ENCRYPTED 0x80 /* in the second byte of a privacy element */

static bool is_privacy(uint32_t element) {
    return element == ELEMENT_PRIVACY_UP || element == ELEMENT_PRIVACY_DOWN ||
           element == ELEMENT_PRIVACY_UP_2;
}

/* Checks for encryption. Each element begins with four bits of type and four bits of size. */
static bool is_encrypted(const uint8_t *elements, uint32_t size) {
    for (uint32_t at = 0; at + 2 < size; at += 1 + elements[at] % 16)
        if (is_privacy(elements[at] >> 4) && elements[at + 2] & ENCRYPTED)
            return true;
    return false;
}

uint32_t carry_packet_walk_docsis(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header || (header[0] & TYPE_MASK) != TYPE_PACKET)
        return CARRY_NEXT_NONE;
    uint32_t extended = header[0] & HAS_EXTENDED ? header[1] : 0;
    if (!carry_walk_take(walk, extended + 2) || is_encrypted(header + 4, extended))
        return CARRY_NEXT_NONE;
    return CARRY_NEXT(LINK, 1);
}
