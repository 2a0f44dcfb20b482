/* SPDX-License-Identifier: MIT */
#include "unit/hook/check.h"

#include <carry/hook.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "harness/guard.h"
#include "harness/rng.h"

CARRY_HOOK_ENTRIES;

static size_t enters, leaves;

static void count_enter(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call, (void)user;
    enters++;
}

static void count_leave(const struct carry_hook_place *place, struct carry_thunk_call *call,
                        void *user) {
    (void)place, (void)call, (void)user;
    leaves++;
}

/* --- Registers --- */

/* Checks the registers that the function receives, and the registers that its caller finds after
   the call. With `leave`, the function receives the frame pointer of the thunk, not of its caller.
 */
static bool passes_registers(bool entry, bool leave) {
    struct callee_registers in, results, out;
    rng_fill(&in, sizeof in);
    rng_fill(&results, sizeof results);
    callee_results = results;
    memset(&callee_seen, 0, sizeof callee_seen);
    call_with(entry, &in, &out);
    if (leave)
        callee_seen.kept[KEPT_FRAME] = in.kept[KEPT_FRAME];
    return !memcmp(&callee_seen, &in, sizeof in) && !memcmp(out.kept, in.kept, sizeof in.kept) &&
           out.passed[PASSED_RESULT] == results.passed[PASSED_RESULT] &&
           out.passed[PASSED_SECOND] == results.passed[PASSED_SECOND] &&
           !memcmp(out.vectors, results.vectors, CALLEE_RESULTS * sizeof *out.vectors);
}

bool entry_is_intact(void) {
    return passes_registers(true, false);
}

bool hook_keeps_registers(bool entry, bool leave) {
    struct carry_hook hook = {.object = "",
                              .symbol = "callee_registers",
                              .enter = count_enter,
                              .leave = leave ? count_leave : NULL};
    enters = leaves = 0;
    callee_registers(); /* binds the slot now: binding changes registers */
    bool ok = passes_registers(entry, false);
    ok = !(entry ? carry_hook_attach_entry(&hook, entry_registers)
                 : carry_hook_attach_calls(&hook)) &&
         ok;
    for (int i = 0; i < 10; i++)
        ok = passes_registers(entry, leave) && ok;
    ok = !carry_hook_detach(&hook) && ok && passes_registers(entry, false);
    return ok && enters == 10 && leaves == 10 * (size_t)leave;
}

/* --- Slots --- */

static bool note_slot(const struct carry_hook_place *place, void *user) {
    struct carry_hook_place *wanted = user;
    if (place->kind == CARRY_HOOK_CALL && !*place->object && !strcmp(place->symbol, wanted->symbol))
        *wanted = *place;
    return true;
}

static uintptr_t stub_of(const struct carry_hook_place *place) {
    return *(const volatile uintptr_t *)place->address;
}

/* Uses stacks that end 0, 1, ... pairs of words after the arguments, before unmapped memory. */
bool hook_stops_at_end(size_t stack_words) {
    struct guard stack = guard_open(1 << 16);
    struct carry_hook hook = {.object = "",
                              .symbol = "callee_twelve",
                              .enter = count_enter,
                              .leave = count_leave,
                              .stack_words = stack_words};
    struct carry_hook_place place = {.symbol = hook.symbol};
    const size_t pairs = 20;
    size_t right = 0;
    bool ok = callee_twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) == 650;
    enters = leaves = 0;
    carry_hook_places(note_slot, &place);
    ok = !carry_hook_attach_calls(&hook) && ok;
    for (size_t i = 0; i < pairs && ok; i++)
        right += call_at_end(stack.end - 16 * i, stub_of(&place)) == 650;
    ok = !carry_hook_detach(&hook) && ok;
    guard_close(&stack);
    return ok && right == pairs && enters == pairs && leaves == pairs;
}

__attribute__((noinline)) uint64_t add_by_slot(uint64_t a, uint64_t b) {
    return callee_add(a, b);
}

bool hook_goes(void) {
    struct carry_hook hook = {.object = "", .symbol = "callee_add", .enter = count_enter};
    struct carry_hook_place place = {.symbol = hook.symbol};
    enters = 0;
    bool ok = add_by_slot(1, 2) == 3;
    carry_hook_places(note_slot, &place);
    ok = !carry_hook_attach_calls(&hook) && add_by_slot(1, 2) == 3 && enters == 1 && ok;
    ok = !carry_hook_detach(&hook) && add_by_slot(1, 2) == 3 && enters == 1 && ok;
    return ok && *(const volatile uintptr_t *)place.address == place.function;
}

/* --- Quiescence --- */

static void *wait_long(void *unused) {
    pause();
    return unused;
}

bool hook_waits_for_quiet(void) {
    struct carry_hook hook = {.enter = count_enter};
    const void *text = (const void *)(uintptr_t)entry_registers;
    unsigned char before[16];
    pthread_t thread;
    enters = 0;
    memcpy(before, text, sizeof before);
    pthread_create(&thread, NULL, wait_long, NULL);
    int error = carry_hook_attach_entry(&hook, entry_registers);
    return error == CARRY_ERROR_BUSY && hook.skipped == 1 && !memcmp(text, before, sizeof before) &&
           entry_is_intact() && !enters;
}
