/* SPDX-License-Identifier: MIT */
/* Frame Relay on Juniper's routers. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_frelay(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 0, 107);
}
