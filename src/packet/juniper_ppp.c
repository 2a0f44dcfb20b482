/* SPDX-License-Identifier: MIT */
/* PPP on Juniper's routers. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_ppp(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 0, 9);
}
