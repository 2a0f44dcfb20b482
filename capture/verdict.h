/* SPDX-License-Identifier: MIT */
/* Sets of verdicts: 1u << verdict, or-ed. */
#ifndef CARRY_CAPTURE_SRC_VERDICT_H
#define CARRY_CAPTURE_SRC_VERDICT_H

#include <carry/capture.h>

static inline bool verdict_is_in(unsigned verdict, unsigned set) {
    return set >> verdict & 1;
}

/* True for those that are found: reported, repaired, and their senders remembered. */
static inline bool verdict_is_finding(unsigned verdict) {
    return verdict_is_in(verdict, CARRY_CAPTURE_FINDING_VERDICTS);
}

#endif
