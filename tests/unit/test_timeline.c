/* SPDX-License-Identifier: MIT */
/* Compares verdicts over time with a list of all counted verdicts. */
#include <timeline.h>

#include <string.h>

#include "harness/rng.h"
#include "harness/tap.h"

#define EVENTS 300
#define ROUNDS 300

struct event {
    uint64_t time;
    unsigned verdict;
};

static uint64_t count_of(const struct event *events, unsigned count, uint64_t from, uint64_t width,
                         unsigned verdict) {
    uint64_t found = 0;
    for (unsigned i = 0; i < count; i++)
        found += events[i].verdict == verdict && events[i].time - from < width;
    return found;
}

static bool is_right(const struct timeline *timeline, const struct event *events, unsigned count) {
    uint64_t earliest = UINT64_MAX, latest = 0, found = 0;
    for (unsigned i = 0; i < count; i++) {
        earliest = events[i].time < earliest ? events[i].time : earliest;
        latest = events[i].time > latest ? events[i].time : latest;
    }
    bool ok = timeline->used <= CARRY_CAPTURE_SPANS_MAX &&
              timeline->first == earliest >> timeline->shift &&
              timeline->first + timeline->used - 1 == latest >> timeline->shift;
    if (timeline->shift > 1) /* half the width would be too narrow */
        ok &= (latest >> (timeline->shift - 1)) - (earliest >> (timeline->shift - 1)) >=
              CARRY_CAPTURE_SPANS_MAX;
    for (unsigned span = 0; span < timeline->used && ok; span++)
        for (unsigned verdict = 0; verdict < CARRY_VERDICT_COUNT; verdict++) {
            ok &= timeline->counts[span][verdict] ==
                  count_of(events, count, (timeline->first + span) << timeline->shift,
                           UINT64_C(1) << timeline->shift, verdict);
            found += timeline->counts[span][verdict];
        }
    return ok && found == count;
}

/* Tries times around one centre, or spread out. */
static void test_random(void) {
    bool ok = true, merged_ok = true;
    for (unsigned round = 0; round < ROUNDS && ok && merged_ok; round++) {
        static struct timeline whole, parts[3];
        struct event events[EVENTS];
        const unsigned bits = (unsigned)rng_below(64);
        const uint64_t centre = rng_next();
        memset(&whole, 0, sizeof whole);
        memset(parts, 0, sizeof parts);
        for (unsigned i = 0; i < EVENTS; i++) {
            events[i].time = centre ^ (rng_next() >> bits);
            events[i].time += !events[i].time;
            events[i].verdict = (unsigned)rng_below(CARRY_VERDICT_COUNT);
            carry_timeline_add(&whole, events[i].time, events[i].verdict);
            carry_timeline_add(&parts[i % 3], events[i].time, events[i].verdict);
        }
        ok = is_right(&whole, events, EVENTS);
        carry_timeline_merge(&parts[0], &parts[1]);
        carry_timeline_merge(&parts[2], &parts[0]);
        merged_ok = is_right(&parts[2], events, EVENTS);
    }
    tap_ok(ok, "times in any order are counted in their spans; these are no wider than needed");
    tap_ok(merged_ok, "times of merged timelines are counted in their spans");
}

static void test_ends(void) {
    static struct timeline timeline, empty;
    carry_timeline_add(&timeline, 0, CARRY_VERDICT_BAD);
    tap_ok(!timeline.used, "an unknown time is not counted");
    carry_timeline_merge(&timeline, &empty);
    carry_timeline_add(&timeline, UINT64_MAX, CARRY_VERDICT_BAD);
    carry_timeline_add(&timeline, 1, CARRY_VERDICT_GOOD);
    carry_timeline_merge(&timeline, &empty);
    const struct event events[] = {{UINT64_MAX, CARRY_VERDICT_BAD}, {1, CARRY_VERDICT_GOOD}};
    tap_ok(is_right(&timeline, events, 2), "the first and the last possible time are counted");
}

int main(void) {
    rng_restart();
    test_random();
    test_ends();
    return tap_done();
}
