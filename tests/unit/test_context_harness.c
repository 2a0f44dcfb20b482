/* SPDX-License-Identifier: MIT */
/* Tests that the checks of contexts catch their mutants. */
#include <carry/cpu.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/fault.h"
#include "harness/replay.h"
#include "harness/tap.h"
#include "mutants/context.h"

#define CHILD_SECONDS 30

static struct verdict check_switches(const struct context_calls *calls) {
    return check_context_ring(calls, 0, CHECKED_COMPONENTS, 8);
}

static struct verdict check_signals(const struct context_calls *calls) {
    const struct storm_options options = {1, 3, 50, 0, true};
    return check_context_storm(calls, &options);
}

static const struct mutant {
    const char *name;
    const struct context_calls *calls;
    struct verdict (*check)(const struct context_calls *calls);
    const char *feature; /* the mutant differs only with this feature */
} mutants[] = {
    {"r15", &broken_context_r15, check_switches, NULL},
    {"fcw", &broken_context_fcw, check_switches, NULL},
    {"mxcsr", &broken_context_mxcsr, check_switches, NULL},
    {"uppers", &broken_context_uppers, check_switches, "avx"},
    {"red_zone", &broken_context_red_zone, check_signals, NULL},
    {"flags", &broken_context_flags, check_signals, NULL},
    {"vectors", &broken_context_vectors, check_signals, "xsave"},
};

/*
 * Runs a mutant's check in a child process, because mutants may crash, hang or give wrong results.
 * Returns the status of the child, or 0 if the child could not be started.
 */
static int context_check_ends(const struct mutant *mutant, const struct context_calls *calls) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(CHILD_SECONDS);
        struct verdict verdict = mutant->check(calls);
        if (!verdict.ok)
            tap_note("%s", verdict.text);
        _exit(verdict.ok ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child ? status : 0;
}

static void test_mutant(const struct mutant *mutant) {
    if (replay_is_on() && mutant->check == check_signals) {
        tap_skip(mutant->name, "the signal frames are those of this CPU, not of the replayed one");
        return;
    }
    if (mutant->feature && !carry_cpu_has(mutant->feature)) {
        tap_skip(mutant->name, "the mutant needs %s", mutant->feature);
        return;
    }
    int status = context_check_ends(mutant, mutant->calls);
    bool crashed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    if (WIFSIGNALED(status))
        tap_note("by signal %d", WTERMSIG(status));
    tap_ok(crashed || (WIFEXITED(status) && WEXITSTATUS(status) == 1), "%s is caught",
           mutant->name);
    status = context_check_ends(mutant, &context_calls);
    tap_ok(TAP_EQ(status, 0), "the original passes");
}

int main(int argc, char **argv) {
    const char *reason = argc ? replay_choose(argv[1]) : NULL;
    if (reason)
        return tap_skip_all(reason);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind confuses stacks that are near each other");
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    return tap_done();
}
