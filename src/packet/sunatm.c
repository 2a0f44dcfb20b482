/* SPDX-License-Identifier: MIT */
/*
 * SunATM: one byte with the direction and the kind of traffic, three bytes with the circuit. In LAN
 * emulation (ATM Forum LANE 1.0, section 4.1.1), the number of a client or the mark of control
 * frames follows.
 */
#include "packet/walk.h"

#define KIND    0x0f
#define CIRCUIT 0x00ffffff

enum kind { KIND_LANE = 1, KIND_LLC = 2 };

#define LANE_CONTROL 0xff00

static uint32_t walk_lan_emulation(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 2);
    bool is_data = header && carry_load16(header) != LANE_CONTROL;
    return is_data ? CARRY_NEXT(LINK, 1) : CARRY_NEXT_NONE;
}

uint32_t carry_packet_walk_sunatm(struct carry_walk *walk) {
    const uint8_t *header = carry_walk_take(walk, 4);
    if (!header)
        return CARRY_NEXT_NONE;
    carry_walk_narrow_scope(walk, carry_load32(header) & CIRCUIT);
    switch (header[0] & KIND) {
    case KIND_LANE:
        return walk_lan_emulation(walk);
    case KIND_LLC:
        return CARRY_NEXT(LINK, 100);
    default:
        return CARRY_NEXT_NONE;
    }
}
