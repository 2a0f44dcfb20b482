/* SPDX-License-Identifier: MIT */
/* Frames of IEEE 802.11, for the headers that captures put before them. */
#ifndef CARRY_PACKET_IEEE80211_H
#define CARRY_PACKET_IEEE80211_H

#include "packet/walk.h"

/* Walks on from an 802.11 header; `padded`: what follows it was moved to a multiple of 4 bytes. */
uint32_t carry_walk_ieee80211(struct carry_walk *walk, bool padded);

#endif
