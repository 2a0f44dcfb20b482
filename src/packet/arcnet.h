/* SPDX-License-Identifier: MIT */
/* Frames of ARCNET behind their addresses, which each system records in another way. */
#ifndef CARRY_PACKET_ARCNET_H
#define CARRY_PACKET_ARCNET_H

#include "packet/walk.h"

/* Walks a frame from its type on, which is at `offset`. */
uint32_t carry_walk_arcnet(struct carry_walk *walk);

#endif
