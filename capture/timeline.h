/* SPDX-License-Identifier: MIT */
/*
 * Verdicts over time, in memory of fixed size: spans of equal width, which double it whenever the
 * times do not fit any more. Spans begin at multiples of their width, so that timelines add up in
 * any order, whatever widths they have.
 */
#ifndef CARRY_CAPTURE_SRC_TIMELINE_H
#define CARRY_CAPTURE_SRC_TIMELINE_H

#include <carry/capture.h>

struct timeline {
    uint64_t first; /* the first span begins at `first` << `shift` nanoseconds since 1970 */
    unsigned shift; /* each is 1 << `shift` nanoseconds wide */
    unsigned used;  /* spans; 0: nothing was counted */
    uint64_t counts[CARRY_CAPTURE_SPANS_MAX][CARRY_VERDICT_COUNT];
};

/* Counts a sum of a packet of this time; not if the time is 0, which is not known. */
void carry_timeline_add(struct timeline *timeline, uint64_t time_ns, unsigned verdict);

void carry_timeline_merge(struct timeline *into, const struct timeline *from);

#endif
