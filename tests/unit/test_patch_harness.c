/* SPDX-License-Identifier: MIT */
/* Tests that the checks of live patching catch their mutants. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/check_patch.h"
#include "harness/fault.h"
#include "harness/tap.h"
#include "hosted/hosted_patch.h"
#include "mutants/patch.h"

#define FLIPS         1000
#define CHILD_SECONDS 30

static struct verdict flips_of_calls(void) {
    return check_flips(&placed_kinds()[0], FLIPS, 1);
}

static struct verdict flips_of_alternatives(void) {
    return check_flips(&placed_kinds()[PLACED_KINDS - 2], FLIPS, 1);
}

static struct verdict check_parked_calls(void) {
    return check_parked(5);
}

static const struct mutant {
    const char *name;
    enum broken_patch mutant;
    struct verdict (*check)(void);
} mutants[] = {
    {"call_nop", BROKEN_PATCH_CALL_NOP, check_parked_calls},
    {"no_guard", BROKEN_PATCH_NO_GUARD, flips_of_calls},
    {"tail_last", BROKEN_PATCH_TAIL_LAST, flips_of_calls},
    {"lost_sites", BROKEN_PATCH_LOST_SITES, flips_of_calls},
    {"not_written", BROKEN_PATCH_NOT_WRITTEN, flips_of_alternatives},
};

/* Checks a mutant or the original in a child process, because mutants may crash or hang. Returns
   the child's status, as waitpid() does. */
static int patch_check_ends(enum broken_patch mutant, struct verdict (*check)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        alarm(CHILD_SECONDS);
        broken_patch = mutant;
        struct verdict verdict = check();
        if (!verdict.ok && mutant == BROKEN_PATCH_NOT)
            tap_note("%s", verdict.text);
        _exit(verdict.ok ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child ? status : 0;
}

static void test_mutant(const struct mutant *mutant) {
    int status = patch_check_ends(mutant->mutant, mutant->check);
    if (WIFSIGNALED(status))
        tap_ok(true, "%s is caught: %s", mutant->name, strsignal(WTERMSIG(status)));
    else
        tap_ok(TAP_NE(WEXITSTATUS(status), 0), "%s is caught: wrong results", mutant->name);
    status = patch_check_ends(BROKEN_PATCH_NOT, mutant->check);
    tap_ok(TAP_EQ(status, 0), "the original passes");
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind runs the text that it read before");
    carry_patch_select("mprotect", "trap"); /* works in emulators too */
    placed_kinds();
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    return tap_done();
}
