/* SPDX-License-Identifier: MIT */
/* ATM on Juniper's second generation of ATM cards: a cookie of 8 bytes. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_atm2(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 8, 100);
}
