/* SPDX-License-Identifier: MIT */
/* Tests that the checks of hooks catch their mutants. */
#include <carry/thunk.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/fault.h"
#include "harness/tap.h"
#include "mutants/hook.h"
#include "unit/hook/check.h"

#define CHILD_SECONDS 30

static bool keeps_registers(void) {
    return hook_keeps_registers(false, false) && hook_keeps_registers(true, false);
}

static bool stops_at_end(void) {
    return hook_stops_at_end(0);
}

static const struct mutant {
    const char *name;
    enum broken_hook mutant;
    bool (*check)(void);
} mutants[] = {
    {"hidden", BROKEN_HOOK_HIDDEN, keeps_registers},
    {"chain", BROKEN_HOOK_CHAIN, keeps_registers},
    {"left_behind", BROKEN_HOOK_LEFT_BEHIND, hook_goes},
    {"past_end", BROKEN_HOOK_PAST_END, stops_at_end},
#ifdef __x86_64__ /* on other architectures, only one NOP of an entry changes */
    {"not_quiet", BROKEN_HOOK_NOT_QUIET, hook_waits_for_quiet},
#endif
};

/* Runs a check in a child process, which has its own stubs: stubs are written only once. */
static bool passes_in_child(enum broken_hook mutant, bool (*check)(void)) {
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        broken_hook = mutant;
        _exit(check() ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind runs the text that it read before");
    if (carry_thunk_prepare())
        return tap_skip_all("thunks are unsupported here");
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        tap_ok(!passes_in_child(mutants[i].mutant, mutants[i].check), "%s is caught",
               mutants[i].name);
        tap_ok(passes_in_child(BROKEN_HOOK_NOT, mutants[i].check), "the original passes");
    }
    return tap_done();
}
