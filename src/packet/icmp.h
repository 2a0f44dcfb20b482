/* SPDX-License-Identifier: MIT */
/* The parts that ICMP and ICMPv6 share: packets quoted in errors, and extensions (RFC 4884). */
#ifndef CARRY_PACKET_ICMP_H
#define CARRY_PACKET_ICMP_H

#include "packet/walk.h"

#define CARRY_ICMP_HEADER_SIZE   8
#define CARRY_ICMP_EXTENDED_ECHO 42 /* a request; ICMPv6 has another number for it */

/* Enters the packet that the ICMP error at `offset` quotes. */
static inline void carry_icmp_start_quote(struct carry_walk *walk) {
    walk->offset += CARRY_ICMP_HEADER_SIZE;
    walk->version = 0; /* not a tunnel */
    walk->quoted = true;
    walk->beyond = CARRY_REASON_QUOTED;
}

/* Limits the readable bytes of the packet to `size`; the length in its header may be larger. */
void carry_icmp_cut_quote(struct carry_walk *walk, uint32_t size);

/*
 * Enters the packet that an ICMP error quotes, for errors that may have an extension after it: the
 * walk returns to the extension. `size` is the number of quoted bytes that the error states, or 0.
 */
void carry_icmp_start_extended_quote(struct carry_walk *walk, uint32_t size);

/* Returns the protocol at a place where an extension may begin. */
uint32_t carry_icmp_extension(struct carry_walk *walk);

#endif
