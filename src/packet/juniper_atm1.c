/* SPDX-License-Identifier: MIT */
/* ATM on Juniper's first generation of ATM cards: a cookie of 4 bytes. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_atm1(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 4, 100);
}
