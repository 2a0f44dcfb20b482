/* SPDX-License-Identifier: MIT */
/* IP over IEEE 1394 (RFC 2734) as Darwin records it: two addresses of 8 bytes, a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_ieee1394(struct carry_walk *walk) {
    return carry_walk_typed(walk, 18);
}
