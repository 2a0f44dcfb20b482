/* SPDX-License-Identifier: MIT */
/* Tests a call in the tool that is patched to another function and back. */
#include <stdio.h>

#include <carry/patch.h>

#include "harness/rng.h"
#include "selftest/selftest.h"

#define ROUNDS 64
#define CALLS  100

CARRY_OP(uint32_t, selftest_step, uint32_t);

static uint32_t threefold(uint32_t number) {
    return 3 * number;
}

static uint32_t turned(uint32_t number) {
    return number << 7 | number >> 25;
}

CARRY_OP_DEFINE(selftest_step, threefold);

static bool calls_go_to(struct selftest_row *row, uint32_t (*function)(uint32_t)) {
    for (int i = 0; i < CALLS; i++) {
        const uint32_t number = (uint32_t)rng_next();
        row->verdict.calls++;
        if (carry_call(selftest_step)(number) != function(number))
            return verdict_fail(&row->verdict, "calls go to another function");
    }
    return true;
}

static bool commit_step(struct selftest_row *row, uint32_t (*function)(uint32_t)) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &carry_op_selftest_step, (uintptr_t)function);
    const int error = carry_patch_commit(&patch);
    if (error)
        return verdict_fail(&row->verdict, "%s", carry_error_name(error));
    return calls_go_to(row, function);
}

/* Returns why calls stayed unpatched after a commit; NULL if no call did. */
static const char *unpatched_reason(const struct carry_patch_counts *stats) {
    for (int i = 0; i < CARRY_PATCH_REASONS; i++)
        if (i != CARRY_PATCH_NOT_ASKED && stats->unpatched[i])
            return carry_patch_reason_name((enum carry_patch_reason)i);
    return NULL;
}

static void note_state(struct selftest_row *row) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    if (stats.direct)
        snprintf(row->note, sizeof row->note, "text written with %s, guarded by %s", stats.backend,
                 stats.guard);
    else
        snprintf(row->note, sizeof row->note, "not patched (%s): calls go through pointers",
                 unpatched_reason(&stats) ? unpatched_reason(&stats)
                                          : "this architecture has no sites");
}

static void try_calls(void *argument) {
    struct selftest_row *row = argument;
    if (!calls_go_to(row, threefold))
        return;
    for (int i = 0; i < ROUNDS; i++)
        if (!commit_step(row, turned) || !commit_step(row, threefold))
            return;
    note_state(row);
}

static void run_patch_row(struct selftest_row *row) {
    selftest_guard(row, try_calls);
}

void selftest_add_patch(struct selftest *test) {
    selftest_add(test, "patch", "call", run_patch_row);
}
