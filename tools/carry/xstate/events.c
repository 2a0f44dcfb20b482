/* SPDX-License-Identifier: MIT */
/*
 * Measures the time that dirty uppers add to single instructions. Some CPUs pay at each change
 * between SSE and VEX instructions, others in each SSE instruction, so each event is timed
 * separately.
 */
#include <stdlib.h>
#include <x86intrin.h>

#include "common/clock.h"
#include "xstate/xstate_measure.h"

/* Repetitions in events of xstate/cost_x86_64.S. */
#define TURNS             16
#define CODE_INSTRUCTIONS 128

#define SHOTS(event)                                                                               \
    { xstate_shot_##event##_clean, xstate_shot_##event##_ymm, xstate_shot_##event##_zmm }

/* NONE is the baseline of VZEROUPPER. The baseline of other events is the same event when clean. */
enum { SSE, VEX, CLEANED, TURN, CODE, VZEROUPPER, NONE, SHOT_ROWS };
_Static_assert(NONE == EVENT_ROWS, "the baseline follows the events");

static const struct shots {
    xstate_shot_fn *shots[XSTATE_UPPERS];
    unsigned count; /* repetitions in an event */
} events[SHOT_ROWS] = {
    [SSE] = {SHOTS(sse), 1},
    [VEX] = {SHOTS(vex), 1},
    [CLEANED] = {SHOTS(cleaned), 1},
    [TURN] = {SHOTS(turns), TURNS},
    [CODE] = {SHOTS(code), CODE_INSTRUCTIONS},
    [VZEROUPPER] = {SHOTS(vzeroupper), 1},
    [NONE] = {SHOTS(none), 1},
};

const char *const xstate_event_names[EVENT_ROWS] = {"sse",  "vex",  "cleaned",
                                                    "turn", "code", "vzeroupper"};
const char *const xstate_event_summary[EVENT_ROWS] = {
    [SSE] = "the first SSE instruction",
    [VEX] = "the first VEX instruction after it",
    [CLEANED] = "the same, vzeroupper between",
    [TURN] = "SSE and VEX in turn, each pair",
    [CODE] = "SSE code after it, each instruction",
    [VZEROUPPER] = "vzeroupper itself",
};

struct shooting {
    size_t rounds, states;
    double *counts; /* `rounds` of each event in each state */
};

static double *counts_of(const struct shooting *shooting, size_t event, size_t state) {
    return shooting->counts + (event * XSTATE_UPPERS + state) * shooting->rounds;
}

/* Returns a delay of less than 64 cycles. Delays are scattered over this range, which is longer
 * than a step of any counter. */
static uint32_t shot_delay(size_t number) {
    return (uint32_t)number * UINT32_C(2654435761) >> 26;
}

/* Takes one shot of each event and state in each round; returns the nanoseconds of a count. */
static double take_shots(struct shooting *shooting) {
    const int64_t start_ns = clock_ns();
    const uint64_t start = __rdtsc();
    for (size_t round = 0; round < shooting->rounds; round++)
        for (size_t event = 0; event < SHOT_ROWS; event++)
            for (size_t state = 0; state < shooting->states; state++)
                counts_of(shooting, event, state)[round] =
                    events[event].shots[state](shot_delay(round));
    return (double)(clock_ns() - start_ns) / (double)(__rdtsc() - start);
}

static int compare_counts(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Returns the mean of the counts. Some counters advance in steps of 10 ns (Zen 5). An event that is
 * shorter changes only how often they step, so its time shows in means, not in medians. The highest
 * and lowest twentieth are omitted, as they contain interrupts.
 */
static double mean_count(const struct shooting *shooting, size_t event, size_t state) {
    double *counts = counts_of(shooting, event, state);
    const size_t cut = shooting->rounds / 20;
    double sum = 0;
    qsort(counts, shooting->rounds, sizeof *counts, compare_counts);
    for (size_t i = cut; i < shooting->rounds - cut; i++)
        sum += counts[i];
    return sum / (double)(shooting->rounds - 2 * cut);
}

static double added_count(const struct shooting *shooting, size_t event, size_t state) {
    const double base = event == VZEROUPPER ? mean_count(shooting, NONE, state)
                                            : mean_count(shooting, event, XSTATE_CLEAN);
    return (mean_count(shooting, event, state) - base) / events[event].count;
}

bool xstate_measure_events(struct xstate_grid *grid, size_t rounds) {
    struct shooting shooting = {.rounds = rounds, .states = xstate_uppers()};
    shooting.counts = calloc(rounds * SHOT_ROWS * XSTATE_UPPERS, sizeof *shooting.counts);
    if (!shooting.counts)
        return false;
    const double ns_per_count = take_shots(&shooting);
    *grid = (struct xstate_grid){.rows = EVENT_ROWS, .columns = shooting.states};
    for (size_t event = 0; event < EVENT_ROWS; event++)
        for (size_t state = 0; state < shooting.states; state++)
            grid->ns[event][state] = added_count(&shooting, event, state) * ns_per_count;
    free(shooting.counts);
    return true;
}
