/* SPDX-License-Identifier: MIT */
/*
 * Checks the results of all sites before and after they are patched, and after each change, first
 * with one thread, then while a second thread runs the sites. Also checks that the expected records
 * exist.
 */
#include "expect.h"
#include "sites.h"

#include <carry/cpu.h>
#include <pthread.h>
#include <string.h>

CARRY_KEY_STATIC(key_own, true);

LINKAGE CARRY_API int check_sites(bool has_dead, bool folded);

#define ROUNDS 20

/* --- Results --- */

/* The state of the sites: whether functions and keys are changed, and which alternatives are
   replaced. */
struct state {
    bool flipped;
    bool replaced;
    bool key_alt_of_many; /* CARRY_ALT_KEY changes in quiet programs only */
    bool key_alt_of_one;
};

static long zero2(void) {
    return 41;
}
static long one2(int a) {
    return a + 7;
}
static long two2(long a, signed char b) {
    return a - b;
}
static long six2(long a, long b, long c, long d, long e, unsigned char f) {
    return a - b - c - d - e - f;
}
static void decrement(long *a) {
    --*a;
}
static bool is_nothing(const void *a) {
    return a == NULL;
}

static void check_calls(bool flipped) {
    static const char text[] = "text";
    long number = 6;
    EXPECT(call0(), flipped ? 41 : 40);
    EXPECT(call1(-5), flipped ? 2 : -5);
    EXPECT(call2(1, -2), flipped ? 3 : -1);
    EXPECT(call3(1, 2, 3), 14);
    EXPECT(call4(1, 2, 3, 4), 30);
    EXPECT(call5(1, 2, 3, 4, 5), 55);
    EXPECT(call6(1, 2, 3, 4, 5, 255), flipped ? -268 : 55 + 6 * 255);
    call_void(&number);
    EXPECT(number, flipped ? 5 : 7);
    EXPECT(call_bool(text), !flipped);
    EXPECT(call_bool(NULL), flipped);
    EXPECT(call_text(text) - text, 1);
    EXPECT(counted_by_call(), 1);
    EXPECT(call_body(UINT64_C(0xfffffffd)), flipped ? 0x100000000 : 0xfffffffd);
}

static void check_branches(bool flipped) {
    EXPECT(if_off(), flipped);
    EXPECT(if_on(), !flipped);
    EXPECT(if_both(), flipped ? 1 : 2);
    EXPECT(if_own(), flipped);
    EXPECT(carry_likely(key_own), !flipped);
}

static void check_surroundings(bool flipped) {
    static const double numbers[] = {1.5, 2.5, 3.5, 4.5};
    static const long integers[] = {1, 2, 3, 4, 5};
    long called = flipped ? -14 : 61;
    EXPECT(leaf(3), (flipped ? 4 : 2) + 3 * 28);
    EXPECT(crowded(numbers, integers), called + 3 + 7.5 + 14 + 22.5 + 70);
    EXPECT(in_loop(5), flipped ? 10 : 10);
    EXPECT(in_loop(6), flipped ? 12 : 15);
    EXPECT(header_here(2), flipped ? 109 : 2);
    EXPECT(header_there(3), flipped ? 110 : 3);
    EXPECT(twin_a(9), flipped ? 4 : 14);
    EXPECT(twin_b(9), flipped ? 4 : 14);
#ifdef __cplusplus
    EXPECT(shared_here(4), flipped ? 24 : 1010);
    EXPECT(shared_there(4), flipped ? 24 : 1010);
#else
    EXPECT(shared_here(4), 1010);
    EXPECT(shared_there(4), 1010);
#endif
}

static void check_alternatives(const struct state *state) {
    EXPECT(alternative(1), state->replaced ? 0x41 : 5);
    EXPECT(alternative_one(1), state->replaced ? 0x41 : 5);
    EXPECT(alternative_key(1), state->key_alt_of_many ? 5 : 0x11);
    EXPECT(alternative_key_one(1), state->key_alt_of_one ? 5 : 0x21);
}

static void check_namespaces(const struct state *state) {
#ifdef __cplusplus
    EXPECT(apart::run(1), (state->flipped ? 5 : 3) * (state->key_alt_of_one ? 0x201 : 0x101) +
                              (state->flipped ? 1 : 0));
#endif
    (void)state;
}

static void check_results(const struct state *state) {
    check_calls(state->flipped);
    check_branches(state->flipped);
    check_surroundings(state->flipped);
    check_alternatives(state);
    check_namespaces(state);
}

/* --- Records --- */

#ifdef CARRY_ALT_EXCESS
#define HAS_SITES true
#else
#define HAS_SITES false
#endif

static uintptr_t key_of(const struct carry_site *site) {
    return (uintptr_t)&site->key + (uintptr_t)(intptr_t)site->key;
}

/* Checks the records of this object, by kind; the library's own records are not counted. */
static void check_records(bool has_dead, bool folded) {
    long counts[CARRY_SITE_BODY + 1] = {0, 0, 0, 0, 0, 0};
    for (const struct carry_site *site = __start_carry_sites; site != __stop_carry_sites; site++)
        if (key_of(site) != (uintptr_t)carry_patch_nothing)
            counts[site->kind]++;
    long dead = has_dead && HAS_SITES;
    EXPECT(counts[CARRY_SITE_CALL],
           HAS_SITES * (CALLS + SHARED_CALLS + APART_CALLS - folded * FOLDED_CALLS) +
               dead * DEAD_CALLS);
    EXPECT(counts[CARRY_SITE_BRANCH],
           HAS_SITES * (BRANCHES + SHARED_BRANCHES + APART_BRANCHES - folded * FOLDED_BRANCHES) +
               dead * DEAD_BRANCHES);
    EXPECT(counts[CARRY_SITE_ALTERNATIVE],
           HAS_SITES * (ALTERNATIVES + APART_ALTERNATIVES) + dead * DEAD_ALTERNATIVES);
    EXPECT(counts[CARRY_SITE_BODY], HAS_SITES * BODIES + dead * DEAD_BODIES);
}

static size_t unpatched_sites(const struct carry_patch_counts *stats) {
    size_t sum = 0;
    for (size_t i = 0; i < CARRY_PATCH_REASONS; i++)
        sum += stats->unpatched[i];
    return sum;
}

static void check_stats(size_t inlined, size_t unpatched, enum carry_patch_reason reason) {
    struct carry_patch_counts stats;
    carry_patch_stats(&stats);
    EXPECT(stats.direct + stats.inlined + stats.branches + stats.alternatives +
               unpatched_sites(&stats),
           stats.sites);
    EXPECT(stats.inlined, HAS_SITES * inlined);
    EXPECT(stats.unpatched[reason], HAS_SITES * unpatched);
    EXPECT(unpatched_sites(&stats), HAS_SITES * unpatched);
}

/* --- Changes --- */

/* Lists the operations whose function changes, each with its other function. */
#define CHANGES(_)                                                                                 \
    _(op0, zero2)                                                                                  \
    _(op1, one2)                                                                                   \
    _(op2, two2) _(op6, six2) _(op_void, decrement) _(op_bool, is_nothing) _(op_body, body_function)

#define DECLARE_FIRST(name, function) static carry_fn_##name *first_##name;
CHANGES(DECLARE_FIRST)

static void remember_first(void) {
#define REMEMBER(name, function) first_##name = carry_get(name);
    CHANGES(REMEMBER)
}

static void flip(bool flipped) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
#define CHANGE(name, function) carry_set(&patch, name, flipped ? function : first_##name);
    CHANGES(CHANGE)
    carry_patch_set(&patch, &carry_key_key_off, flipped);
    carry_patch_set(&patch, &carry_key_key_on, !flipped);
    carry_patch_set(&patch, &carry_key_key_alt, flipped);
    set_own(&patch, flipped);
    carry_patch_set(&patch, &carry_key_key_own, !flipped);
#ifdef __cplusplus
    apart::set(&patch, flipped);
#endif
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
}

/* Whether the alternatives by a feature are replaced after sites are patched. */
static bool by_feature;

static bool stop;

/* Runs all sites until `stop` is set. Both the old and the new results are right while the other
   thread changes functions and keys. */
static void *run_sites(void *unused) {
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        long zero = call0();
        long six = call6(1, 2, 3, 4, 5, 255);
        uint64_t body = call_body(1);
        long branches = if_both();
        uint64_t one = alternative_key_one(1);
        if ((zero != 40 && zero != 41) || (six != -268 && six != 1585) ||
            (body != 1 && body != 4) || branches < 0 || branches > 3 || (one != 5 && one != 0x21))
            return &stop;
    }
    return NULL;
}

static void check_with_a_thread(void) {
    struct state state = {false, by_feature, false, false};
    pthread_t thread;
    void *wrong;
    EXPECT(pthread_create(&thread, NULL, run_sites, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        state.flipped = round % 2 != 0;
        state.key_alt_of_one = HAS_SITES && state.flipped;
        flip(state.flipped);
        check_results(&state);
        check_stats(state.flipped, state.flipped, CARRY_PATCH_QUIESCENCE);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, &wrong);
    EXPECT(wrong == NULL, true);
}

/* Checks that functions that may be called by address begin with ENDBR64 in programs for CET. */
static void check_landing(void) {
#if defined(__CET__) && __CET__ & 1
    static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    EXPECT(memcmp((const void *)(uintptr_t)carry_get(op1), endbr64, sizeof endbr64), 0);
    EXPECT(memcmp((const void *)(uintptr_t)carry_get(op_body), endbr64, sizeof endbr64), 0);
#endif
}

int check_sites(bool has_dead, bool folded) {
    struct state state = {false, false, false, false};
    by_feature = HAS_SITES && carry_cpu_has(FEATURE);
    remember_first();
    check_records(has_dead, folded);
    check_results(&state);
    size_t expected = CALLS + SHARED_CALLS + APART_CALLS;
    expected += BRANCHES + SHARED_BRANCHES + APART_BRANCHES;
    expected += by_feature ? 2 : 0;
    if (has_dead)
        expected += DEAD_CALLS + DEAD_BRANCHES + (by_feature ? DEAD_ALTERNATIVES : 0);
    if (folded)
        expected -= FOLDED_CALLS + FOLDED_BRANCHES;
    /* Alternatives by a key that is off have the right content before anything is patched. */
    check_stats(0, expected, CARRY_PATCH_NOT_ASKED);

    EXPECT(carry_patch_apply(0), CARRY_OK);
    state.replaced = by_feature;
    check_results(&state);
    check_stats(0, 0, CARRY_PATCH_NOT_ASKED);
    for (int round = 1; round <= ROUNDS; round++) {
        state.flipped = round % 2 != 0;
        state.key_alt_of_many = state.key_alt_of_one = HAS_SITES && state.flipped;
        flip(state.flipped);
        check_results(&state);
        check_stats(state.flipped, 0, CARRY_PATCH_NOT_ASKED);
    }
    check_with_a_thread();
    check_landing();
    return result();
}
