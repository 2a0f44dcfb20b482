/* SPDX-License-Identifier: MIT */
/* Frames of ARCNET, behind the addresses, which systems record in different ways. */
#ifndef CARRY_PACKET_ARCNET_H
#define CARRY_PACKET_ARCNET_H

#include "packet/walk.h"

/* Walks on from the type. */
uint32_t carry_walk_arcnet(struct carry_walk *walk);

#endif
