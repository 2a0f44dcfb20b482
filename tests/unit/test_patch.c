/* SPDX-License-Identifier: MIT */
/*
 * Tests operations, keys and transactions as programs use them. The results must be the same with
 * sites and without.
 */
#include <string.h>

#include <carry/patch.h>

#include "harness/fault.h"
#include "harness/tap.h"

/* --- Operations with each number of parameters and each type; two functions for each --- */

enum colour { RED = -7, GREEN = 3 };

static unsigned calls;

/* OPERATION(name, type of the result, parameters, results of the first and second function) */
#define OPERATION(name, result, parameters, first, second)                                         \
    static result name##_first parameters {                                                        \
        calls++;                                                                                   \
        return first;                                                                              \
    }                                                                                              \
    static result name##_second parameters {                                                       \
        calls++;                                                                                   \
        return second;                                                                             \
    }                                                                                              \
    CARRY_OP_DEFINE(name, name##_first)

CARRY_OP(void, nothing);
CARRY_OP(void, give, int *);
CARRY_OP(uint64_t, none);
CARRY_OP(bool, is, int);
CARRY_OP(char, letter, char);
CARRY_OP(signed char, small, signed char);
CARRY_OP(uint8_t, byte, uint8_t);
CARRY_OP(short, half, short);
CARRY_OP(uint16_t, port, uint16_t);
CARRY_OP(int, negative, int);
CARRY_OP(unsigned, word, unsigned);
CARRY_OP(long, large, long);
CARRY_OP(enum colour, colour, enum colour);
CARRY_OP(const char *, text, const char *);
CARRY_OP(uint64_t, two, uint64_t, uint32_t);
CARRY_OP(uint64_t, three, uint64_t, const void *, bool);
CARRY_OP(uint64_t, four, int8_t, int16_t, int32_t, int64_t);
CARRY_OP(uint64_t, five, uint8_t, uint16_t, uint32_t, uint64_t, bool);
CARRY_OP(uint64_t, six, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static void nothing_first(void) {
    calls++;
}

static void nothing_second(void) {
    calls += 10;
}

static void give_first(int *place) {
    *place = 1;
}

static void give_second(int *place) {
    *place = 2;
}

CARRY_OP_DEFINE(nothing, nothing_first);
CARRY_OP_DEFINE(give, give_first);
OPERATION(none, uint64_t, (void), UINT64_MAX, 1);
OPERATION(is, bool, (int number), number > 5, number <= 5);
OPERATION(letter, char, (char given), given, (char)(given + 1));
OPERATION(small, signed char, (signed char given), given, (signed char)-given);
OPERATION(byte, uint8_t, (uint8_t given), given, (uint8_t)~given);
OPERATION(half, short, (short given), given, (short)-given);
OPERATION(port, uint16_t, (uint16_t given), given, (uint16_t)~given);
OPERATION(negative, int, (int given), given, -given);
OPERATION(word, unsigned, (unsigned given), given, ~given);
OPERATION(large, long, (long given), given, -given);
OPERATION(colour, enum colour, (enum colour given), given, given == RED ? GREEN : RED);
OPERATION(text, const char *, (const char *given), given, given + 1);
OPERATION(two, uint64_t, (uint64_t a, uint32_t b), a - b, b - a);
OPERATION(three, uint64_t, (uint64_t a, const void *b, bool c), a + (b != NULL) * 2u + c,
          a - c - (b != NULL));
OPERATION(four, uint64_t, (int8_t a, int16_t b, int32_t c, int64_t d),
          (uint64_t)(a + b * 10 + c * 100 + d * 1000), (uint64_t)(a - b - c - d));
OPERATION(five, uint64_t, (uint8_t a, uint16_t b, uint32_t c, uint64_t d, bool e),
          d + a + b + c + e, a *d + b - c - e);
OPERATION(six, uint64_t, (uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f),
          a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f, a ^ b ^ c ^ d ^ e ^ f);

/* Checks a result of the first or the second function; returns the name of a wrong operation. */
#define EXPECT(name, arguments, first, second)                                                     \
    if (carry_call(name) arguments != (is_second ? (second) : (first)))                            \
    return #name

static const char *wrong_operation(bool is_second) {
    int place = 0;
    unsigned before = calls;
    carry_call(nothing)();
    if (calls - before != (is_second ? 10 : 1))
        return "nothing";
    carry_call(give)(&place);
    if (place != (is_second ? 2 : 1))
        return "give";
    EXPECT(none, (), UINT64_MAX, 1);
    EXPECT(is, (6), true, false);
    EXPECT(is, (-6), false, true);
    EXPECT(letter, ('q'), 'q', 'r');
    EXPECT(small, (-100), -100, 100);
    EXPECT(byte, (200), 200, 55);
    EXPECT(half, (-30000), -30000, 30000);
    EXPECT(port, (60000), 60000, 5535);
    EXPECT(negative, (-2000000000), -2000000000, 2000000000);
    EXPECT(word, (4000000000u), 4000000000u, 294967295u);
    EXPECT(large, (-3L), -3L, 3L);
    EXPECT(colour, (RED), RED, GREEN);
    EXPECT(two, (100, 1), 99, UINT64_MAX - 98);
    EXPECT(three, (10, &place, true), 13, 8);
    EXPECT(four, (-1, -2, -3, -4), (uint64_t)-4321, 8);
    EXPECT(five, (255, 65535, 4294967295u, 1, true), 4295033087u,
           UINT64_C(255) + 65535 - 4294967295u - 1);
    EXPECT(six, (1, 2, 3, 4, 5, 6), 91, 7);
    return strcmp(carry_call(text)("abc"), is_second ? "bc" : "abc") ? "text" : NULL;
}

/* --- Keys --- */

CARRY_KEY(key);
CARRY_KEY(key_on);
CARRY_KEY_DEFINE(key, false);
CARRY_KEY_DEFINE(key_on, true);

static unsigned branches_taken(void) {
    unsigned bits = 0;
    if (carry_unlikely(key))
        bits |= 1;
    if (carry_likely(key))
        bits |= 2;
    if (carry_unlikely(key_on))
        bits |= 4;
    if (carry_likely(key_on))
        bits |= 8;
    return bits;
}

/* --- Transactions --- */

#define SET(which)                                                                                 \
    carry_set(&patch, nothing, nothing_##which);                                                   \
    carry_set(&patch, give, give_##which);                                                         \
    carry_set(&patch, none, none_##which);                                                         \
    carry_set(&patch, is, is_##which);                                                             \
    carry_set(&patch, letter, letter_##which);                                                     \
    carry_set(&patch, small, small_##which);                                                       \
    carry_set(&patch, byte, byte_##which);                                                         \
    carry_set(&patch, half, half_##which);                                                         \
    carry_set(&patch, port, port_##which);                                                         \
    carry_set(&patch, negative, negative_##which);                                                 \
    carry_set(&patch, word, word_##which);                                                         \
    carry_set(&patch, large, large_##which);                                                       \
    carry_set(&patch, colour, colour_##which);                                                     \
    carry_set(&patch, text, text_##which);                                                         \
    carry_set(&patch, two, two_##which);                                                           \
    carry_set(&patch, three, three_##which);                                                       \
    carry_set(&patch, four, four_##which);                                                         \
    carry_set(&patch, five, five_##which);                                                         \
    carry_set(&patch, six, six_##which)

static void report_all(bool is_second, const char *when) {
    const char *wrong = wrong_operation(is_second);
    if (wrong)
        tap_note("operation %s is wrong", wrong);
    tap_ok(!wrong, "operations of all types: %s", when);
}

static void test_operations(void) {
    struct carry_patch patch;
    report_all(false, "initially");
    carry_patch_begin(&patch);
    SET(second);
    tap_ok(!wrong_operation(false), "nothing changes before the commit");
    tap_ok(TAP_EQ(carry_patch_commit(&patch), 0), "several keys can be set in one commit");
    report_all(true, "after a commit");
    tap_ok(TAP_EQ(carry_get(six), six_second), "carry_get() returns the function");
    carry_patch_begin(&patch);
    SET(first);
    carry_patch_abort(&patch);
    report_all(true, "after an aborted change");
    carry_patch_begin(&patch);
    SET(first);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), 0), "a key can be set again after an abort");
    report_all(false, "after they are set back");
}

static void test_keys(void) {
    struct carry_patch patch;
    tap_ok(TAP_EQ(branches_taken(), 0xc), "keys have their initial values");
    carry_patch_begin(&patch);
    carry_enable(&patch, key);
    carry_disable(&patch, key_on);
    carry_patch_commit(&patch);
    tap_ok(TAP_EQ(branches_taken(), 0x3), "one key is set, one is cleared");
    carry_patch_begin(&patch);
    carry_disable(&patch, key);
    carry_enable(&patch, key_on);
    carry_patch_commit(&patch);
    tap_ok(TAP_EQ(branches_taken(), 0xc), "both keys are set back");
}

static void test_same_key_twice(void) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_enable(&patch, key);
    carry_disable(&patch, key);
    carry_enable(&patch, key);
    carry_set(&patch, negative, negative_second);
    carry_set(&patch, negative, negative_first);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), 0), "a key can be set twice in one commit");
    tap_ok(TAP_EQ(branches_taken() & 3, 3) && TAP_EQ(carry_call(negative)(1), 1),
           "the last value of a key takes effect");
    carry_patch_begin(&patch);
    carry_disable(&patch, key);
    carry_patch_commit(&patch);
}

static void test_nothing(void) {
    struct carry_patch patch;
    struct carry_patch_counts before, after;
    unsigned calls_before = calls;
    carry_patch_begin(&patch);
    carry_set(&patch, nothing, CARRY_OP_NOTHING(nothing));
    carry_patch_commit(&patch);
    carry_call(nothing)();
    tap_ok(TAP_EQ(calls, calls_before), "an operation can do nothing");
    carry_patch_begin(&patch);
    carry_set(&patch, nothing, nothing_first);
    carry_patch_commit(&patch);
    carry_patch_stats(&before);
    carry_patch_begin(&patch);
    tap_ok(TAP_EQ(carry_patch_commit(&patch), 0), "an empty commit succeeds");
    carry_patch_stats(&after);
    tap_ok(TAP_EQ(after.commits, before.commits + 1) && TAP_EQ(after.written, before.written),
           "an empty commit writes nothing");
}

/* --- Resolvers: functions that return the initial value --- */

static unsigned resolved;

static int answer_first(void) {
    return 1;
}

static int answer_second(void) {
    return 2;
}

static uintptr_t resolve_answer(void) {
    resolved++;
    return (uintptr_t)answer_second;
}

CARRY_OP(int, answer);
CARRY_OP(int, answer_set_before);
CARRY_OP_DEFINE_RESOLVED(answer, answer_first, resolve_answer);
CARRY_OP_DEFINE_RESOLVED(answer_set_before, answer_first, resolve_answer);

static void test_resolve(bool has_sites) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, answer_set_before, answer_first);
    carry_patch_commit(&patch);
    tap_ok(TAP_EQ(carry_call(answer)(), 1) && TAP_EQ(resolved, 0),
           "a resolver is not called early");
    /* Valgrind executes text that it translated before, so no way to write seems to work. */
    int refused = fault_under_valgrind() ? CARRY_ERROR_PERMISSION : 0;
    tap_ok(TAP_EQ(carry_patch_apply(CARRY_PATCH_QUIET), refused), "all sites are patched, or none");
    if (has_sites)
        tap_ok(TAP_EQ(carry_call(answer)(), 2) && TAP_GT(resolved, 0),
               "a resolver is called when sites are patched");
    tap_ok(TAP_EQ(carry_call(answer_set_before)(), 1),
           "a resolver is not called for an operation that was set before");
    report_all(false, "after all sites are patched");
}

int main(void) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    bool has_sites = stats.sites > 0;
    tap_note("%zu sites in %zu objects", stats.sites, stats.objects);
    tap_ok(TAP_EQ(stats.unpatched[CARRY_PATCH_NOT_ASKED], stats.sites) && TAP_EQ(stats.commits, 0),
           "no site is patched without a request");
    test_operations();
    test_keys();
    test_same_key_twice();
    test_nothing();
    test_resolve(has_sites);
    return tap_done();
}
