/* SPDX-License-Identifier: MIT */
/* Cisco HDLC on Juniper's routers. */
#include "packet/juniper.h"

uint32_t carry_packet_walk_juniper_chdlc(struct carry_walk *walk) {
    return carry_walk_juniper(walk, 0, 104);
}
