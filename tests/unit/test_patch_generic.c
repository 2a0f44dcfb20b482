/* SPDX-License-Identifier: MIT */
/*
 * Tests operations and keys on any architecture: before and after sites are patched, after each
 * change, and after an abort. A second test is this file compiled with CARRY_NO_SITES.
 */
#include <carry/patch.h>
#include <stdio.h>

#include "harness/fault.h"
#include "harness/tap.h"

#define DEFINITIONS 8

#ifdef CARRY_SITE_RECORD
#define HAS_SITES true
#else
#define HAS_SITES false
#endif

CARRY_OP(int, none);
CARRY_OP(int, one, signed char);
CARRY_OP(int64_t, six, int64_t, int32_t, int16_t, int8_t, uint8_t, uint64_t);
CARRY_OP(void, action, int *);
CARRY_OP(bool, question, const char *);
CARRY_OP(const char *, text, const char *);
CARRY_OP(uint64_t, choice, uint64_t);
CARRY_KEY(key);

static int return_1(void) {
    return 1;
}
static int return_2(void) {
    return 2;
}
static int negate(signed char a) {
    return -a;
}
static int64_t add_to_number(int64_t a, int32_t b, int16_t c, int8_t d, uint8_t e, uint64_t f) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * (int64_t)f;
}
static int64_t subtract(int64_t a, int32_t b, int16_t c, int8_t d, uint8_t e, uint64_t f) {
    return a - b - c - d - e - (int64_t)f;
}
static void increment(int *a) {
    ++*a;
}
static bool is_empty(const char *a) {
    return !*a;
}
static const char *skip_one(const char *a) {
    return a + 1;
}
static uint64_t undecided(uint64_t a) {
    return a;
}
#ifdef __aarch64__
#define SUCCESSOR "add x0, x0, 1"
#else
#define SUCCESSOR "lea 1(%%rdi), %%rax"
#endif
static uint64_t successor(uint64_t a) {
    CARRY_BODY(successor, SUCCESSOR);
    return a + 1;
}
static uintptr_t choose(void) {
    return (uintptr_t)successor;
}

CARRY_OP_DEFINE(none, return_1);
CARRY_OP_DEFINE(one, negate);
CARRY_OP_DEFINE(six, add_to_number);
CARRY_OP_DEFINE(action, increment);
CARRY_OP_DEFINE(question, is_empty);
CARRY_OP_DEFINE(text, skip_one);
CARRY_OP_DEFINE_RESOLVED(choice, undecided, choose);
CARRY_KEY_DEFINE(key, false);

/*
 * Checks the results of calls. `chosen` means that resolvers have chosen functions for undecided
 * operations, which happens when sites are patched.
 */
static void check_calls(const char *when, bool changed, bool chosen) {
    int number = 6;
    carry_call(action)(&number);
    tap_ok(TAP_EQ(carry_call(none)(), changed ? 2 : 1), "%s: no argument", when);
    tap_ok(TAP_EQ(carry_call(one)(-128), 128), "%s: a narrow argument", when);
    tap_ok(TAP_EQ(carry_call(six)(1, -2, -3, -4, 255, 6), changed ? -251 : 1283), "%s: six", when);
    tap_ok(TAP_EQ(number, changed ? 6 : 7), "%s: no result", when);
    tap_ok(TAP_TRUE(carry_call(question)("")) && TAP_TRUE(!carry_call(question)("a")), "%s: bool",
           when);
    tap_ok(TAP_EQ(*carry_call(text)("ab"), 'b'), "%s: pointers", when);
    tap_ok(TAP_EQ(carry_call(choice)(UINT64_MAX), chosen ? 0 : UINT64_MAX), "%s: 64 bits", when);
}

static void check_all(const char *when, bool changed, bool chosen) {
    check_calls(when, changed, chosen);
    tap_ok(TAP_EQ(carry_unlikely(key), changed), "%s: unlikely", when);
    tap_ok(TAP_EQ(carry_likely(key), changed), "%s: likely", when);
}

static void note_changes(struct carry_patch *patch, bool changed) {
    carry_set(patch, none, changed ? return_2 : return_1);
    carry_set(patch, six, changed ? subtract : add_to_number);
    carry_set(patch, action, changed ? CARRY_OP_NOTHING(action) : increment);
    if (changed)
        carry_enable(patch, key);
    else
        carry_disable(patch, key);
}

static void check_changes(void) {
    for (int i = 1; i <= 4; i++) {
        struct carry_patch patch;
        char when[32];
        snprintf(when, sizeof when, "change %d", i);
        carry_patch_begin(&patch);
        note_changes(&patch, i % 2);
        tap_ok(TAP_EQ(carry_patch_commit(&patch), CARRY_OK), "%s", when);
        check_all(when, i % 2, HAS_SITES);
    }
}

static void check_abort(void) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    note_changes(&patch, true);
    carry_patch_abort(&patch);
    check_all("after an abort", false, HAS_SITES);
    tap_ok(TAP_EQ(carry_get(none), return_1), "after an abort: the function is unchanged");
}

static void check_stats(void) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    if (HAS_SITES) {
        tap_ok(TAP_TRUE(stats.objects) && TAP_EQ(stats.unrecorded, 0),
               "the program's sites are registered");
        tap_ok(TAP_TRUE(stats.direct) && TAP_TRUE(stats.inlined) && TAP_TRUE(stats.branches),
               "the program's sites are patched");
    } else {
        /* The library, which is linked into this program, may have sites. */
        tap_ok(stats.objects || stats.unrecorded == DEFINITIONS, "the program has no sites");
        tap_ok(TAP_EQ(stats.commits, 5), "apply and four changes are counted");
    }
    for (size_t i = 0; i < CARRY_PATCH_REASONS; i++)
        tap_ok(TAP_EQ(stats.unpatched[i], 0), "none unpatched: %s",
               carry_patch_reason_name((enum carry_patch_reason)i));
}

int main(void) {
    check_all("unpatched", false, false);
    /* Valgrind executes its translation of the old text: the library notices this. */
    int refused = HAS_SITES && fault_under_valgrind() ? CARRY_ERROR_PERMISSION : CARRY_OK;
    tap_ok(TAP_EQ(carry_patch_apply(0), refused), "sites are patched on request");
    check_all("patched", false, HAS_SITES);
    check_changes();
    check_abort();
    if (!refused)
        check_stats();
    return tap_done();
}
