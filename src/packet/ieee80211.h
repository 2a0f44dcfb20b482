/* SPDX-License-Identifier: MIT */
/* Frames of IEEE 802.11, for the protocols whose headers come before them in captures. */
#ifndef CARRY_PACKET_IEEE80211_H
#define CARRY_PACKET_IEEE80211_H

#include "packet/walk.h"

#define CARRY_LINKTYPE_IEEE80211 105 /* without any header before the frame */

enum carry_ieee80211_form {
    CARRY_IEEE80211_PLAIN,
    CARRY_IEEE80211_PADDED,  /* the header was padded to a multiple of 4 bytes */
    CARRY_IEEE80211_SWAPPED, /* most senders swap the two bytes of frame control: accept both */
};

/* Walks the frame whose 802.11 header is at `offset`. Returns the next protocol. */
uint32_t carry_walk_ieee80211(struct carry_walk *walk, enum carry_ieee80211_form form);

#endif
