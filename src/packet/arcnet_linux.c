/* SPDX-License-Identifier: MIT */
/* ARCNET as Linux records it: two addresses, two bytes for the card, then the type, as in BSD. */
#include "packet/arcnet.h"

uint32_t carry_packet_walk_arcnet_linux(struct carry_walk *walk) {
    return carry_walk_take(walk, 4) ? carry_walk_arcnet(walk) : CARRY_NEXT_NONE;
}
