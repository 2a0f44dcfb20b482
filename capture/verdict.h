/* SPDX-License-Identifier: MIT */
/* Tests verdicts, and sets of them: bits 1u << verdict. */
#ifndef CARRY_CAPTURE_SRC_VERDICT_H
#define CARRY_CAPTURE_SRC_VERDICT_H

#include <carry/capture.h>

static inline bool verdict_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

/* Checks whether a verdict makes a finding: the sum may be reported and repaired, and its sender is
   remembered. */
static inline bool verdict_is_finding(unsigned verdict) {
    return verdict_is_in(verdict, CARRY_CAPTURE_FINDING_VERDICTS);
}

/* Checks for the sum of a lone IPv4 header: it holds 0 and is bad in its own frame. */
static inline bool verdict_is_lone_header(const struct carry_packet_sum *sum) {
    return sum->protocol == CARRY_PROTOCOL_IP && sum->verdict == CARRY_VERDICT_BAD && !sum->stored;
}

#endif
