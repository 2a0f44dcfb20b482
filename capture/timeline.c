/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

static void add_verdict_counts(uint64_t *into, const uint64_t *from) {
    for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++)
        into[verdict] += from[verdict];
}

/* Doubles the width of all spans. Spans move only to lower indices, so no count is moved twice. */
static void widen_spans(struct timeline *timeline) {
    const uint64_t first = timeline->first >> 1;
    uint64_t last = 0;
    for (unsigned i = 0; i < timeline->used; i++) {
        uint64_t counts[CARRY_VERDICT_COUNT];
        memcpy(counts, timeline->counts[i], sizeof counts);
        memset(timeline->counts[i], 0, sizeof counts);
        last = ((timeline->first + i) >> 1) - first;
        add_verdict_counts(timeline->counts[last], counts);
    }
    timeline->first = first;
    timeline->used = (unsigned)last + 1;
    timeline->shift++;
}

/* Extends the timeline to the spans from `first` up to, but not including, `end`. Returns false if
   these are too many. */
static bool extend_timeline(struct timeline *timeline, uint64_t first, uint64_t end) {
    if (end - first > CARRY_CAPTURE_SPANS_MAX)
        return false;
    const size_t moved = (size_t)(timeline->first - first), size = sizeof *timeline->counts;
    memmove(timeline->counts + moved, timeline->counts, timeline->used * size);
    memset(timeline->counts, 0, moved * size);
    timeline->first = first;
    timeline->used = (unsigned)(end - first);
    return true;
}

/* Sets the first span. The width is at least 2 ns, so that the number of a span, and of the span
   after it, fits in 64 bits. */
static void begin_timeline(struct timeline *timeline, uint64_t time_ns) {
    timeline->shift += !timeline->shift;
    timeline->first = time_ns >> timeline->shift;
}

/* Returns the counts of the span that contains a time. */
static uint64_t *find_span(struct timeline *timeline, uint64_t time_ns) {
    if (!timeline->used)
        begin_timeline(timeline, time_ns);
    for (;; widen_spans(timeline)) {
        const uint64_t place = time_ns >> timeline->shift;
        if (place - timeline->first < timeline->used)
            return timeline->counts[place - timeline->first];
        const uint64_t end = timeline->first + timeline->used;
        const uint64_t first = place < timeline->first ? place : timeline->first;
        if (extend_timeline(timeline, first, place < end ? end : place + 1))
            return timeline->counts[place - first];
    }
}

void carry_timeline_add(struct timeline *timeline, uint64_t time_ns, unsigned verdict) {
    if (time_ns)
        find_span(timeline, time_ns)[verdict]++;
}

void carry_timeline_merge(struct timeline *into, const struct timeline *from) {
    if (!into->used)
        into->shift = from->shift;
    while (from->used && into->shift < from->shift)
        widen_spans(into);
    for (unsigned i = 0; i < from->used; i++)
        add_verdict_counts(find_span(into, (from->first + i) << from->shift), from->counts[i]);
}
