/* SPDX-License-Identifier: MIT */
/*
 * The time stamp of Arista's switches: a subtype, a version that determines its size, the time in
 * seconds and nanoseconds, then a type field.
 */
#include "packet/walk.h"

#define SUBTYPE 0x0001

#define CLOCK_MASK 0x0100 /* of the version: TAI or UTC */

enum version { VERSION_64_BITS = 0x0010, VERSION_48_BITS = 0x0020 };

uint32_t carry_packet_walk_arista_timestamp(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header || carry_load16(header) != SUBTYPE)
        return CARRY_NEXT_NONE;
    switch (carry_load16(header + 2) & ~(uint32_t)CLOCK_MASK) {
    case VERSION_64_BITS:
        return carry_walk_typed(walk, 8 + 2);
    case VERSION_48_BITS:
        return carry_walk_typed(walk, 6 + 2);
    default:
        return CARRY_NEXT_NONE;
    }
}
