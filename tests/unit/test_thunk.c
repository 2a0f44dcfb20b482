/* SPDX-License-Identifier: MIT */
/* Tests thunks: what they preserve, what callbacks receive, and unwinding. */
#include <string.h>

#include <carry/cpu.h>

#include "harness/check_thunk.h"
#include "harness/fault.h"
#include "harness/registers.h"
#include "harness/replay.h"
#include "harness/tap.h"
#include "xstate/x86_64/thunk.h"

/* Masks of CPU features, one for each way to detect the components in use and to preserve them. */
static const char *const masks[] = {
    "",        "+fast_xgetbv1", "fast_xgetbv1", "avx512f", "avx512f,+fast_xgetbv1",
    "xgetbv1", "xsavec",        "avx",          "xsave",   "all",
};

static void test_registers(const char *mask) {
    struct verdict verdict = check_thunk_enter(carry_thunk_enter);
    verdict_report(&verdict, "mask \"%s\": enter preserves arguments, and cleans", mask);
    verdict = check_thunk_around(carry_thunk_around);
    verdict_report(&verdict, "mask \"%s\": around preserves arguments and results, and cleans",
                   mask);
    verdict = check_thunk_any(carry_thunk_any);
    verdict_report(&verdict, "mask \"%s\": any preserves everything, and cleans", mask);
}

static void test_unwinding(const char *mask) {
    struct verdict verdict = check_thunk_unwind(carry_thunk_enter, false);
    verdict_report(&verdict, "mask \"%s\": backtraces from each instruction of enter", mask);
    verdict = check_thunk_unwind(carry_thunk_around, false);
    verdict_report(&verdict, "mask \"%s\": backtraces from each instruction of around", mask);
    verdict = check_thunk_unwind(carry_thunk_any, true);
    verdict_report(&verdict, "mask \"%s\": backtraces from each instruction of any", mask);
}

/* --- Stubs made by the compiler --- */

static unsigned calls;

static void count_call(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)call;
    calls += thunk->user == &calls;
}

static double weigh_words(long a, long b, long c, long d, long e, long f, long g, long h, double x,
                          float y) {
    return (double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h) + x * (double)y;
}

extern struct carry_thunk entered, surrounded, pierced;
struct carry_thunk entered = {
    .enter = count_call, .target = (const void *)weigh_words, .user = &calls};
struct carry_thunk surrounded = {
    .enter = count_call, .leave = count_call, .target = (const void *)weigh_words, .user = &calls};
struct carry_thunk pierced = {.enter = count_call, .user = &calls};

double weigh_entered(long, long, long, long, long, long, long, long, double, float);
double weigh_surrounded(long, long, long, long, long, long, long, long, double, float);
void pierce(void);

CARRY_THUNK(weigh_entered, entered)
CARRY_THUNK_AROUND(weigh_surrounded, surrounded)
CARRY_THUNK_ANY(pierce, pierced)

static void test_stubs(void) {
    const double wanted = weigh_words(1, 2, 3, 4, 5, 6, 7, 8, 2.5, 4);
    calls = 0;
    tap_ok(TAP_TRUE(weigh_entered(1, 2, 3, 4, 5, 6, 7, 8, 2.5, 4) == wanted) && TAP_EQ(calls, 1),
           "CARRY_THUNK");
    tap_ok(TAP_TRUE(weigh_surrounded(1, 2, 3, 4, 5, 6, 7, 8, 2.5, 4) == wanted) && TAP_EQ(calls, 3),
           "CARRY_THUNK_AROUND");
    registers_dirty(&registers_in, registers_components() & carry_xstate_default(), false);
    registers_call((const void *)pierce, RED_ZONE);
    struct verdict verdict = {.ok = true};
    registers_compare(&registers_in, &registers_out, carry_xstate_default(), &verdict);
    registers_compare_gpr(&registers_in, &registers_out, 0xffff, &verdict);
    tap_ok(calls == 4, "CARRY_THUNK_ANY calls back");
    verdict_report(&verdict, "CARRY_THUNK_ANY preserves everything");
}

/* --- Features that are masked during a thunk --- */

typedef float wide __attribute__((vector_size(32)));

static void lose_avx(const struct carry_thunk *thunk, struct carry_thunk_call *call) {
    (void)thunk, (void)call;
    carry_cpu_set_mask("avx");
    carry_thunk_prepare();
}

__attribute__((target("avx"))) static wide add_wide(wide a, wide b) {
    return a + b;
}

extern struct carry_thunk losing;
struct carry_thunk losing = {
    .enter = lose_avx, .leave = lose_avx, .target = (const void *)add_wide};

__attribute__((target("avx"))) wide add_wide_losing(wide, wide);
CARRY_THUNK(add_wide_losing, losing)

__attribute__((target("avx"))) static bool adds_wide(void) {
    const wide a = {1, 2, 3, 4, 5, 6, 7, 8};
    wide sum = add_wide_losing(a, a);
    bool ok = true;
    for (int i = 0; i < 8; i++)
        ok = ok && sum[i] == 2 * a[i];
    return ok;
}

static void test_loss(void) {
    if (!carry_cpu_has("avx")) {
        tap_skip("features that go", "no avx");
        return;
    }
    const uint64_t mask = carry_thunk_any_mask, size = carry_thunk_any_size;
    tap_ok(adds_wide(), "a callback masks AVX: arguments keep their width");
    carry_cpu_set_mask("xsave");
    carry_thunk_prepare();
    tap_ok(TAP_EQ(carry_thunk_any_mask, mask) && TAP_EQ(carry_thunk_any_size, size),
           "a callback masks XSAVE: areas of running thunks keep their form");
    carry_cpu_set_mask("");
    carry_thunk_prepare();
}

int main(int argc, char **argv) {
    const char *reason = argc ? replay_choose(argv[1]) : NULL;
    if (reason)
        return tap_skip_all(reason);
    if (fault_under_valgrind())
        return tap_skip_all("valgrind preserves fewer registers than CPUs do");
    registers_prepare();
    struct verdict verdict = check_thunk_unprepared(carry_thunk_enter);
    verdict_report(&verdict, "enter passes calls on until thunks are prepared");
    verdict = check_thunk_unprepared(carry_thunk_around);
    verdict_report(&verdict, "around passes calls on until thunks are prepared");
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        tap_ok(TAP_EQ(carry_cpu_set_mask(masks[i]), CARRY_OK) &&
                   TAP_EQ(carry_thunk_prepare(), CARRY_OK),
               "mask \"%s\": prepared", masks[i]);
        test_registers(masks[i]);
        if (replay_is_on())
            tap_skip("backtraces", "the replay uses the trap flag");
        else if (!registers_tell_use())
            tap_skip("backtraces", "an emulator's signal frames cannot be unwound");
        else
            test_unwinding(masks[i]);
    }
    tap_note("%zu instructions of thunks stepped through", check_thunk_steps());
    carry_cpu_set_mask("");
    carry_thunk_prepare();
    test_stubs();
    test_loss();
    return tap_done();
}
