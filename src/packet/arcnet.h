/* SPDX-License-Identifier: MIT */
/* Frames of ARCNET after their addresses, which each system records in its own way. */
#ifndef CARRY_PACKET_ARCNET_H
#define CARRY_PACKET_ARCNET_H

#include "packet/walk.h"

/* Walks a frame, beginning with its type at `offset`. Returns the next protocol. */
uint32_t carry_walk_arcnet(struct carry_walk *walk);

#endif
