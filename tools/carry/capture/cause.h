/* SPDX-License-Identifier: MIT */
/* What is known of a sum beside its verdict: counted, and named in reports. */
#ifndef CARRY_TOOLS_CAUSE_H
#define CARRY_TOOLS_CAUSE_H

#include <carry/packet.h>

enum cause {
    CAUSE_NONE,
    CAUSE_ZERO,           /* bad: it holds 0 */
    CAUSE_BESIDE_PARTIAL, /* partial, an IPv4 header's: it holds 0, in one frame with partial sums
                           */
    CAUSE_BY_SENDER,      /* the same, because its sender leaves others so: see header_senders.h */
    CAUSE_ADLER32,        /* bad, of SCTP: it verifies as Adler-32 */
    CAUSE_COUNT
};

enum cause cause_of(const struct carry_packet_sum *sum);

/* Static strings: "zero", "beside_partial". */
const char *cause_name(enum cause cause);

/* Turns a bad sum of CAUSE_ZERO into a partial one of CAUSE_BY_SENDER. */
void cause_leave(struct carry_packet_sum *sum);

#endif
