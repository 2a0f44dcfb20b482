/* SPDX-License-Identifier: MIT */
/* The E-Tag of extended ports (IEEE 802.1BR, section 7.5): 6 bytes, then a type field. */
#include "packet/walk.h"

uint32_t carry_packet_walk_etag(struct carry_walk *walk) {
    return carry_walk_typed(walk, 8);
}
