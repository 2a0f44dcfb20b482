/* SPDX-License-Identifier: MIT */
/* Tests sets of verdicts: bits 1u << verdict. */
#ifndef CARRY_CAPTURE_SRC_VERDICT_H
#define CARRY_CAPTURE_SRC_VERDICT_H

#include <carry/capture.h>

static inline bool verdict_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

/* Returns true for verdicts that are findings: they are reported and repaired, and their senders
   are remembered. */
static inline bool verdict_is_finding(unsigned verdict) {
    return verdict_is_in(verdict, CARRY_CAPTURE_FINDING_VERDICTS);
}

#endif
