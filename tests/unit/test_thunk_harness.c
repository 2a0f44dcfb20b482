/* SPDX-License-Identifier: MIT */
/* Tests that the checks of thunks catch their mutants. */
#include <string.h>

#include <carry/cpu.h>

#include "harness/check_thunk.h"
#include "harness/fault.h"
#include "harness/registers.h"
#include "harness/replay.h"
#include "harness/tap.h"
#include "mutants/thunk.h"

static struct verdict check_unwind(const void *entry) {
    return check_thunk_unwind(entry, false);
}

typedef struct verdict check_fn(const void *entry);

#define MUTANT(name) #name, broken_thunk_##name

static const struct mutant {
    const char *name;
    const char *entry;
    check_fn *check;
    const char *needs;
    const char *message;
} mutants[] = {
    {MUTANT(forgets_uppers), check_thunk_enter, "avx", "sees vectors of"},
    {MUTANT(forgets_xmm7), check_thunk_enter, "", "sees another vector 7"},
    {MUTANT(forgets_chain), check_thunk_enter, "", "r10 is 0"},
    {MUTANT(stays_dirty), check_thunk_enter, "avx", "upper halves are"},
    {MUTANT(moves_stack), check_thunk_enter, "", "other arguments on the stack"},
    {MUTANT(forgets_leave), check_thunk_around, "", "leave is called 0 times"},
    {MUTANT(any_flags), check_thunk_any, "", "flags are"},
    {MUTANT(any_rdi), check_thunk_any, "", "another argument 0"},
    {MUTANT(any_x87), check_thunk_any, "", "X87 differs"},
    {MUTANT(any_xmm15), check_thunk_any, "", "SSE differs at byte 240"},
    {MUTANT(any_k1), check_thunk_any, "", "OPMASK differs at byte 8"},
    {MUTANT(any_red_zone), check_thunk_any, "", "writes to the red zone"},
    {MUTANT(wrong_cfi), check_unwind, "", "a backtrace"},
};

static void test_mutant(const struct mutant *mutant) {
    if (!carry_cpu_has(mutant->needs) && *mutant->needs) {
        tap_skip(mutant->name, "this CPU lacks %s", mutant->needs);
        return;
    }
    if (strstr(mutant->message, "OPMASK") && !(registers_components() & BIT(OPMASK))) {
        tap_skip(mutant->name, "this CPU has no masks");
        return;
    }
    if (mutant->check == check_unwind && replay_is_on()) {
        tap_skip(mutant->name, "the replay uses the trap flag");
        return;
    }
    if (mutant->check == check_unwind && !registers_tell_use()) {
        tap_skip(mutant->name, "an emulator's signal frames cannot be unwound");
        return;
    }
    struct verdict verdict = mutant->check(mutant->entry);
    bool caught = TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, mutant->message));
    tap_ok(caught, "%s is caught: %s", mutant->name, verdict.text);
}

int main(int argc, char **argv) {
    const char *reason = argc ? replay_choose(argv[1]) : NULL;
    if (reason)
        return tap_skip_all(reason);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind preserves fewer registers than CPUs do");
    registers_prepare();
    carry_thunk_prepare();
    struct verdict verdict = check_thunk_enter(broken_thunk_not);
    verdict_report(&verdict, "the original passes");
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    return tap_done();
}
