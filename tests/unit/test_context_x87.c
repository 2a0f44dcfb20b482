/* SPDX-License-Identifier: MIT */
/*
 * Tests that switches leave x87 out of use on CPUs where one FLDCW would put it in use permanently.
 * Cascade Lake is such a CPU: its behaviour is replayed.
 */
#include "harness/check_context.h"
#include "harness/replay.h"
#include "harness/tap.h"
#include "mutants/context.h"

#define INITIAL 0x37f
#define UP      0xb7f /* rounds up */
#define DOWN    0x77f
#define X87     CARRY_XSTATE_BIT(X87)
#define SSE     CARRY_XSTATE_BIT(SSE)
#define ALL     (X87 | SSE | CARRY_XSTATE_BIT(AVX))
#define TURNS   3

/* A case: two contexts switch back and forth three times. */
static const struct row {
    const char *name;
    uint64_t mask;     /* what both contexts keep */
    uint16_t fcw_here; /* the first control words of both contexts */
    uint16_t fcw_there;
    bool starts_in_use;                 /* both contexts execute FNINIT at first */
    bool new_area;                      /* `there` gets an area while it is suspended */
    struct replay_counts executed;      /* in the last turn */
    bool ends_in_use;                   /* whether x87 is in use in `there` in the last turn */
    const struct context_calls *mutant; /* the mutant that must be caught */
} rows[] = {
    {"nothing kept, words alike: no FLDCW", .mask = 0, .fcw_here = INITIAL, .fcw_there = INITIAL,
     .mutant = &broken_context_x87},
    {"nothing kept, words differ: FLDCW each way", .mask = 0, .fcw_here = UP, .fcw_there = DOWN,
     .executed = {.fldcw = 2}, .ends_in_use = true, .mutant = &broken_context_fcw},
    {"SSE kept, words alike: no FLDCW", .mask = SSE, .fcw_here = UP, .fcw_there = UP,
     .ends_in_use = true},
    {"all kept, words alike: no area", .mask = ALL, .fcw_here = INITIAL, .fcw_there = INITIAL,
     .mutant = &broken_context_x87},
    {"all kept, one word is another: no FLDCW, and out of use there", .mask = ALL, .fcw_here = UP,
     .fcw_there = INITIAL, .executed = {.areas = 3}, .mutant = &broken_context_x87},
    {"all kept, both words are others: no FLDCW", .mask = ALL, .fcw_here = UP, .fcw_there = DOWN,
     .executed = {.areas = 4}, .ends_in_use = true, .mutant = &broken_context_x87},
    {"all kept, FNINIT at first: out of use again, and no area", .mask = ALL, .fcw_here = INITIAL,
     .fcw_there = INITIAL, .starts_in_use = true},
    {"a new area while suspended: FCW stays", .mask = ALL, .fcw_here = UP, .fcw_there = UP,
     .new_area = true, .executed = {.fldcw = 1, .areas = 4}, .ends_in_use = true},
};

static struct carry_context here, there;
static unsigned char areas[3][16384] __attribute__((aligned(64)));
static unsigned char stack[65536] __attribute__((aligned(64)));
static const struct context_calls *used_calls;

static struct {
    uint16_t fcw;
    bool in_use;
} seen;

static uint16_t get_fcw(void) {
    uint16_t fcw;
    __asm__ volatile("fnstcw %0" : "=m"(fcw));
    return fcw;
}

static void begin_turns(bool uses_x87, uint16_t fcw) {
    if (uses_x87)
        __asm__ volatile("fninit");
    if (fcw != INITIAL)
        __asm__ volatile("fldcw %0" : : "m"(fcw));
}

static struct carry_context *answer_turns(void *argument, uintptr_t value) {
    const struct row *row = argument;
    (void)value;
    begin_turns(row->starts_in_use, row->fcw_there);
    for (;;) {
        seen.in_use = carry_xstate_in_use() & X87;
        seen.fcw = get_fcw();
        used_calls->go(&there, &here, 0);
    }
    return NULL;
}

static void take_turns(const struct row *row) {
    for (unsigned i = 0; i < TURNS; i++) {
        if (i && row->new_area)
            carry_context_keep(&there, areas[2], sizeof areas[2], row->mask);
        replay_start(); /* restarts the counts */
        used_calls->go(&here, &there, 0);
    }
}

static struct verdict check_row(const struct context_calls *calls, const struct row *row) {
    struct verdict verdict = {.ok = true};
    used_calls = calls;
    carry_context_adopt(&here, NULL, 0);
    carry_context_create(&there, stack, sizeof stack, answer_turns, (void *)row);
    carry_context_keep(&here, areas[0], sizeof areas[0], row->mask);
    carry_context_keep(&there, areas[1], sizeof areas[1], row->mask);
    replay_start();
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    begin_turns(row->starts_in_use, row->fcw_here);
    take_turns(row);
    const struct replay_counts executed = replay_counts();
    const uint16_t fcw = get_fcw();
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    replay_stop();
    if (fcw != row->fcw_here || seen.fcw != row->fcw_there)
        verdict_fail(&verdict, "FCW is %#x here, %#x there; ", fcw, seen.fcw);
    if (executed.fldcw != row->executed.fldcw)
        verdict_fail(&verdict, "FLDCW runs %u times; ", executed.fldcw);
    if (executed.areas != row->executed.areas)
        verdict_fail(&verdict, "areas are saved and loaded %u times; ", executed.areas);
    if (seen.in_use != row->ends_in_use)
        verdict_fail(&verdict, "x87 is %sin use; ", seen.in_use ? "" : "not ");
    return verdict;
}

int main(void) {
    const char *reason = replay_choose("Skylake-X");
    if (reason)
        return tap_skip_all(reason);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verdict verdict = check_row(&context_calls, &rows[i]);
        verdict_report(&verdict, "%s", rows[i].name);
        if (rows[i].mutant)
            tap_ok(!check_row(rows[i].mutant, &rows[i]).ok, "its mutant is caught");
    }
    return tap_done();
}
