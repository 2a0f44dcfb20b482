/* SPDX-License-Identifier: MIT */
/* Tests that the checks of thunks catch their mutants. */
#include <string.h>

#include <carry/cpu.h>

#include "broken/thunk.h"
#include "harness/check_thunk.h"
#include "harness/fault.h"
#include "harness/registers.h"
#include "harness/replay.h"
#include "harness/tap.h"

static struct verdict unwind(const void *entry) {
    return check_thunk_unwind(entry, false);
}

typedef struct verdict check_fn(const void *entry);

#define TWIN(name) #name, broken_thunk_##name

static const struct twin {
    const char *name;
    const char *entry;
    check_fn *check;
    const char *needs;
    const char *message;
} twins[] = {
    {TWIN(forgets_uppers), check_thunk_enter, "avx", "sees vectors of"},
    {TWIN(forgets_xmm7), check_thunk_enter, "", "sees another vector 7"},
    {TWIN(forgets_chain), check_thunk_enter, "", "r10 is 0"},
    {TWIN(stays_dirty), check_thunk_enter, "avx", "upper halves are"},
    {TWIN(moves_stack), check_thunk_enter, "", "other arguments on the stack"},
    {TWIN(forgets_leave), check_thunk_around, "", "leave is called 0 times"},
    {TWIN(any_flags), check_thunk_any, "", "flags are"},
    {TWIN(any_rdi), check_thunk_any, "", "another argument 0"},
    {TWIN(any_x87), check_thunk_any, "", "X87 differs"},
    {TWIN(any_xmm15), check_thunk_any, "", "SSE differs at byte 240"},
    {TWIN(any_k1), check_thunk_any, "", "OPMASK differs at byte 8"},
    {TWIN(any_red_zone), check_thunk_any, "", "writes to the red zone"},
    {TWIN(wrong_cfi), unwind, "", "a backtrace"},
};

static void test_twin(const struct twin *twin) {
    if (!carry_cpu_has(twin->needs) && *twin->needs) {
        tap_skip(twin->name, "this CPU lacks %s", twin->needs);
        return;
    }
    if (strstr(twin->message, "OPMASK") && !(registers_components() & BIT(OPMASK))) {
        tap_skip(twin->name, "this CPU has no masks");
        return;
    }
    if (twin->check == unwind && replay_is_on()) {
        tap_skip(twin->name, "the replay uses the trap flag");
        return;
    }
    if (twin->check == unwind && !registers_tell_use()) {
        tap_skip(twin->name, "an emulator's signal frames cannot be unwound");
        return;
    }
    struct verdict verdict = twin->check(twin->entry);
    bool caught = TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, twin->message));
    tap_ok(caught, "%s is caught: %s", twin->name, verdict.text);
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
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        test_twin(&twins[i]);
    return tap_done();
}
