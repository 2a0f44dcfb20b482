/* SPDX-License-Identifier: MIT */
/* What ICMP and ICMPv6 share: packets quoted in errors, and extensions (RFC 4884). */
#ifndef CARRY_PACKET_ICMP_H
#define CARRY_PACKET_ICMP_H

#include "packet/walk.h"

#define CARRY_ICMP_HEADER_SIZE   8
#define CARRY_ICMP_EXTENDED_ECHO 42 /* a request; ICMPv6 has another number for it */

/* Enters the packet that the error at `offset` quotes. */
static inline void carry_icmp_start_quote(struct carry_walk *walk) {
    walk->offset += CARRY_ICMP_HEADER_SIZE;
    walk->version = 0; /* not a tunnel */
    walk->quoted = true;
    walk->beyond = CARRY_REASON_QUOTED;
}

/* Ends what can be read of the packet at `size` bytes from here; its own length may be beyond. */
void carry_icmp_cut_quote(struct carry_walk *walk, uint32_t size);

/*
 * The same for an error that may have an extension behind the packet, which the walk then returns
 * to. `size` is how much of the packet there is by the error's own account; 0: it does not say.
 */
void carry_icmp_start_extended_quote(struct carry_walk *walk, uint32_t size);

/* What comes next where an extension may begin. */
uint32_t carry_icmp_extension(struct carry_walk *walk);

#endif
