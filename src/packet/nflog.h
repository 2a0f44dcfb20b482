/* SPDX-License-Identifier: MIT */
/* The attributes in which Linux's netfilter passes a packet to programs. */
#ifndef CARRY_PACKET_NFLOG_H
#define CARRY_PACKET_NFLOG_H

#include "packet/walk.h"

/* The differences between netfilter's log and its queue. */
struct carry_nflog_form {
    uint32_t payload;      /* the type of the field that is the packet */
    uint32_t ethertype_at; /* where the field of type 1 holds the packet's ethertype */
};

/* The form of LINKTYPE_NFLOG. */
static const struct carry_nflog_form carry_nflog_log = {.payload = 9, .ethertype_at = 0};

/* Walks the attributes of a packet. At walk->offset is netfilter's header, which begins with the
 * family; the attributes follow. Returns the next protocol. */
uint32_t carry_walk_nflog(struct carry_walk *walk, struct carry_nflog_form form);

#endif
