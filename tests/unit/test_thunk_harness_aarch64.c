/* SPDX-License-Identifier: MIT */
/* Tests that the checks of thunks on AArch64 catch their mutants. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/check_thunk_aarch64.h"
#include "harness/tap.h"
#include "mutants/thunk_aarch64.h"
#include "xstate/aarch64/thunk.h"

static struct verdict check_enter(const void *entry) {
    return check_thunk_enter(entry, false);
}

static struct verdict check_around(const void *entry) {
    return check_thunk_around(entry, false);
}

static struct verdict enter_whole(const void *entry) {
    return check_thunk_enter(entry, true);
}

static struct verdict around_whole(const void *entry) {
    return check_thunk_around(entry, true);
}

static struct verdict check_backtraces(const void *entry) {
    return check_thunk_backtraces(entry, false);
}

static struct verdict in_streaming(const void *entry) {
    whole_mode |= 1 << WHOLE_STREAMING;
    struct verdict verdict = check_thunk_unprepared(entry);
    whole_mode &= ~(UINT64_C(1) << WHOLE_STREAMING);
    return verdict;
}

static struct verdict with_za(const void *entry) {
    __asm__ volatile("msr S3_3_C13_C0_5, xzr\n\t" /* without a promise to save ZA */
                     "msr S0_3_C4_C5_3, xzr");
    struct verdict verdict = check_thunk_unprepared(entry);
    __asm__ volatile("msr S0_3_C4_C4_3, xzr\n\t"
                     "msr S3_3_C13_C0_5, xzr");
    return verdict;
}

typedef struct verdict check_fn(const void *entry);

#define MUTANT(name) #name, broken_thunk_##name

static const struct mutant {
    const char *name;
    const char *entry;
    check_fn *check;
    uint32_t needs; /* bits of carry_thunk_detect() */
    const char *message;
} mutants[] = {
    {MUTANT(forgets_x5), check_enter, 0, "another argument 5"},
    {MUTANT(forgets_x8), check_enter, 0, "x8 differs"},
    {MUTANT(forgets_x18), check_enter, 0, "x18 differs"},
    {MUTANT(forgets_q7), check_enter, 0, "another vector 7"},
    {MUTANT(changes_x21), check_enter, 0, "x21 differs"},
    {MUTANT(changes_d9), check_enter, 0, "vector 9 differs"},
    {MUTANT(moves_stack), check_enter, 0, "other arguments on the stack"},
    {MUTANT(forgets_leave), check_around, 0, "leave is called 0 times"},
    {MUTANT(wrong_cfi), check_backtraces, 0, "find the caller"},
    {MUTANT(whole_forgets_x9), enter_whole, 0, "x9 differs"},
    {MUTANT(whole_forgets_q23), enter_whole, 0, "vector 23 differs"},
    {MUTANT(whole_forgets_z8), enter_whole, 1 << MACHINE_SVE,
     "vector 8 differs in the target at byte 16"},
    {MUTANT(whole_forgets_p0), enter_whole, 1 << MACHINE_SVE, "predicate 0 differs"},
    {MUTANT(whole_forgets_p4), enter_whole, 1 << MACHINE_SVE, "predicate 4 differs"},
    {MUTANT(stops_streaming), in_streaming, 1 << MACHINE_SME, "calls back"},
    {MUTANT(promises_za), with_za, 1 << MACHINE_SME, "calls back"},
    /* Thunks for functions of the base calling convention are wrong for other functions. */
    {"enter for any", carry_thunk_enter, enter_whole, 0, ""},
    {"around for any", carry_thunk_around, around_whole, 0, ""},
};

static void test_mutant(const struct mutant *mutant) {
    if (mutant->needs & ~carry_thunk_detect()) {
        tap_skip(mutant->name, "this CPU has no such registers");
        return;
    }
    if (strstr(mutant->message, "byte 16") && whole_vector_bytes() == 16) {
        tap_skip(mutant->name, "vectors are of 128 bits");
        return;
    }
    struct verdict verdict = mutant->check(mutant->entry);
    tap_ok(TAP_TRUE(!verdict.ok) && TAP_TRUE(strstr(verdict.text, mutant->message)),
           "%s is caught: %s", mutant->name, verdict.text);
}

/* Checks a thunk that cannot reach guarded text, in a child process, because SIGILL ends it. */
static void test_guarded(void) {
    int status = 0;
    if (!(carry_thunk_detect() >> MACHINE_BTI & 1)) {
        tap_skip("a thunk that cannot reach guarded text", "this CPU has no guards");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        check_thunk_reaches_guarded(carry_thunk_enter);
        _exit(0);
    }
    waitpid(child, &status, 0);
    tap_ok(TAP_TRUE(WIFSIGNALED(status)) && TAP_EQ(WTERMSIG(status), SIGILL),
           "a thunk that cannot reach guarded text is caught");
}

int main(void) {
    check_thunk_start();
    carry_thunk_prepare();
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        test_mutant(&mutants[i]);
    test_guarded();
    struct verdict verdict = check_enter(broken_thunk_not);
    verdict_report(&verdict, "the original passes");
    verdict = enter_whole(broken_thunk_whole_not);
    verdict_report(&verdict, "the original for any function passes");
    return tap_done();
}
