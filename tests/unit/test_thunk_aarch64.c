/* SPDX-License-Identifier: MIT */
/* Tests thunks on AArch64: the registers that they preserve, calls that skip callbacks, and
   unwinding. */
#include <string.h>

#include "harness/check_thunk_aarch64.h"
#include "harness/tap.h"
#include "xstate/aarch64/thunk.h"

/* --- Registers --- */

static const struct thunk {
    const char *name;
    const char *entry;
    bool around, whole;
} thunks[] = {
    {"enter", carry_thunk_enter, false, false},
    {"around", carry_thunk_around, true, false},
    {"enter whole", carry_thunk_enter_whole, false, true},
    {"around whole", carry_thunk_around_whole, true, true},
};

#define THUNKS (sizeof thunks / sizeof *thunks)

static void test_unprepared(void) {
    for (size_t i = 0; i < THUNKS; i++) {
        struct verdict verdict = check_thunk_unprepared(thunks[i].entry);
        verdict_report(&verdict, "%s passes calls on until thunks are prepared", thunks[i].name);
    }
}

static void test_registers(const char *how) {
    for (size_t i = 0; i < THUNKS; i++) {
        struct verdict verdict = thunks[i].around
                                     ? check_thunk_around(thunks[i].entry, thunks[i].whole)
                                     : check_thunk_enter(thunks[i].entry, thunks[i].whole);
        verdict_report(&verdict, "%s preserves arguments and results%s", thunks[i].name, how);
    }
}

/* --- Stubs made by the compiler --- */

static unsigned calls;

static void count_call(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)call;
    calls += thunk->user == &calls;
}

struct big {
    long words[5];
};

static struct big weigh_words(long a, long b, long c, long d, long e, long f, long g, long h,
                              long i, double x, float y) {
    return (struct big){
        {a + 2 * b, 3 * c + 4 * d, 5 * e + 6 * f, 7 * g + 8 * h + 9 * i, (long)(x * (double)y)}};
}

extern struct carry_thunk entered, surrounded;
struct carry_thunk entered = {
    .enter = count_call, .target = (const void *)weigh_words, .user = &calls};
struct carry_thunk surrounded = {
    .enter = count_call, .leave = count_call, .target = (const void *)weigh_words, .user = &calls};

struct big weigh_entered(long, long, long, long, long, long, long, long, long, double, float);
struct big weigh_surrounded(long, long, long, long, long, long, long, long, long, double, float);
CARRY_THUNK(weigh_entered, entered)
CARRY_THUNK_AROUND(weigh_surrounded, surrounded)

static void test_stubs(void) {
    const struct big wanted = weigh_words(1, 2, 3, 4, 5, 6, 7, 8, 9, 2.5, 4);
    calls = 0;
    struct big found = weigh_entered(1, 2, 3, 4, 5, 6, 7, 8, 9, 2.5, 4);
    tap_ok(TAP_MEMEQ(&found, &wanted, sizeof found) && TAP_EQ(calls, 1), "CARRY_THUNK");
    found = weigh_surrounded(1, 2, 3, 4, 5, 6, 7, 8, 9, 2.5, 4);
    tap_ok(TAP_MEMEQ(&found, &wanted, sizeof found) && TAP_EQ(calls, 3), "CARRY_THUNK_AROUND");
}

/* --- Unwinding --- */

static void test_backtraces(void) {
    for (size_t i = 0; i < THUNKS; i++) {
        struct verdict verdict = check_thunk_backtraces(thunks[i].entry, thunks[i].around);
        verdict_report(&verdict, "%s: backtraces from callbacks and the target", thunks[i].name);
    }
}

/* --- Streaming mode, and ZA --- */

#define START_ZA "msr S0_3_C4_C5_3, xzr\n\t"
#define STOP_ZA  "msr S0_3_C4_C4_3, xzr\n\t"

static uint64_t read_svcr(void) {
    uint64_t value;
    __asm__ volatile("mrs %0, S3_3_C4_C2_2" : "=r"(value));
    return value;
}

static void set_promise(const void *promise) {
    __asm__ volatile("msr S3_3_C13_C0_5, %0" : : "r"(promise));
}

static void test_handed_on(const char *what) {
    for (size_t i = 0; i < THUNKS; i++) {
        struct verdict verdict = check_thunk_unprepared(thunks[i].entry);
        verdict_report(&verdict, "%s: %s passes the call on", what, thunks[i].name);
    }
}

static void test_streaming(void) {
    static const uint64_t promise[2];
    if (!(carry_thunk_detect() >> MACHINE_SME & 1)) {
        tap_skip("streaming mode", "this CPU has none");
        return;
    }
    whole_mode |= 1 << WHOLE_STREAMING;
    test_handed_on("streaming mode");
    whole_mode &= ~(UINT64_C(1) << WHOLE_STREAMING);
    set_promise(NULL);
    __asm__ volatile(START_ZA);
    test_handed_on("ZA is live");
    set_promise(promise);
    test_registers(", with a promise to save ZA");
    tap_ok(TAP_EQ(read_svcr(), 2), "and ZA stays");
    __asm__ volatile(STOP_ZA);
    set_promise(NULL);
}

/* --- Targets without landing pads --- */

static void test_guarded(void) {
    if (!(carry_thunk_detect() >> MACHINE_BTI & 1)) {
        tap_skip("targets without landing pads", "this CPU needs none");
        return;
    }
    for (size_t i = 0; i < THUNKS; i++)
        if (thunks[i].whole)
            tap_ok(check_thunk_reaches_guarded(thunks[i].entry),
                   "%s reaches guarded text without a landing pad", thunks[i].name);
}

int main(void) {
    check_thunk_start();
    tap_note("%s", whole_mode ? "scalable vectors" : "no scalable vectors");
    test_unprepared();
    tap_ok(TAP_EQ(carry_thunk_prepare(), CARRY_OK), "prepared");
    test_registers("");
    test_stubs();
    test_backtraces();
    test_streaming();
    test_guarded();
    return tap_done();
}
