/* SPDX-License-Identifier: MIT */
/* Ethernet on Juniper's routers, also with PPPoE in it. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_ethernet(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 0, 1);
}
