/* SPDX-License-Identifier: MIT */
/*
 * Counts verdicts over time in memory of fixed size: spans of equal width. The width doubles
 * whenever the times no longer fit. Spans begin at multiples of their width, so that timelines of
 * any widths can be added in any order.
 */
#ifndef CARRY_CAPTURE_SRC_TIMELINE_H
#define CARRY_CAPTURE_SRC_TIMELINE_H

#include <carry/capture.h>

struct timeline {
    uint64_t first; /* the first span begins at `first` << `shift` nanoseconds since 1970 */
    unsigned shift; /* each span is 1 << `shift` nanoseconds wide */
    unsigned used;  /* spans; 0: nothing was counted */
    uint64_t counts[CARRY_CAPTURE_SPANS_MAX][CARRY_VERDICT_COUNT];
};

/* Counts a sum of a packet with this time; ignores a time of 0 (unknown). */
void carry_timeline_add(struct timeline *timeline, uint64_t time_ns, unsigned verdict);

void carry_timeline_merge(struct timeline *into, const struct timeline *from);

#endif
