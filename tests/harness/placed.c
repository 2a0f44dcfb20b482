/* SPDX-License-Identifier: MIT */
#include "harness/placed.h"

#include <stdio.h>
#include <string.h>

#include "harness/rng.h"
#include "patch/patch_internal.h"

/* --- The functions of the sites --- */

#define DECLARE_op(name)  CARRY_OP(uint64_t, placed_##name, uint64_t)
#define DECLARE_key(name) CARRY_KEY(placed_##name)
#define DEFINE_op(name)   CARRY_OP_DEFINE(placed_##name, add1)
#define DEFINE_key(name)  CARRY_KEY_DEFINE(placed_##name, false)

#define DECLARE(name, prefix, ...)                                                                 \
    DECLARE_##prefix(name);                                                                        \
    extern const struct placed placed_##name[];                                                    \
    extern const size_t placed_##name##_count;
PLACED_ROWS(DECLARE)

static uint64_t add1(uint64_t number) {
    return number + 1;
}

static uint64_t add2(uint64_t number) {
    return number + 2;
}

static uint64_t add3(uint64_t number) {
    CARRY_BODY(add3, PLACED_ADD3);
    return number + 3;
}

static uint32_t placed_number __attribute__((used)) = 4444;

static uint64_t get_number(uint64_t number) {
    CARRY_BODY_RELATIVE(get_number, PLACED_NUMBER);
    (void)number;
    return placed_number;
}

#define DEFINE(name, prefix, ...) DEFINE_##prefix(name);
PLACED_ROWS(DEFINE)

/* --- The kinds --- */

/*
 * Defines a row: the name, the prefix of its key, the size of a site, `in_text` of struct
 * placed_kind, and the states.
 */
#define KIND(name, prefix, length, in_text, ...)                                                   \
    {#name,                                                                                        \
     length,                                                                                       \
     in_text,                                                                                      \
     &carry_##prefix##_placed_##name,                                                              \
     placed_##name,                                                                                \
     placed_##name##_count,                                                                        \
     sizeof((struct placed_state[]){__VA_ARGS__}) / sizeof(struct placed_state),                   \
     {__VA_ARGS__}},

const struct placed_kind *placed_kinds(void) {
    static struct placed_kind kinds[PLACED_KINDS];
    if (kinds[0].name)
        return kinds;
    placed_fn *beyond = placed_far(add1);
    const uintptr_t far = (uintptr_t)(beyond ? beyond : add1);
    const uint64_t number = PLACED_ARGUMENT;
    const struct placed_kind all[PLACED_KINDS] = {PLACED_ROWS(KIND)};
    memcpy(kinds, all, sizeof kinds);
    return kinds;
}

int placed_commit(struct carry_key *key, uintptr_t value) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, key, value);
    return carry_patch_commit(&patch);
}

/* --- Flips while other threads run the sites --- */

/* Shared by the threads of a check. */
static struct {
    const struct placed_kind *kind;
    /* A serial number, the state before a commit and the state after it. The states are equal
       unless a commit is under way. */
    uint64_t phase;
    bool stop;
    size_t running; /* threads that have run all sites at least once */
    size_t wrong;
    char text[160]; /* a description of the first wrong result */
} load;

static uint64_t make_phase(uint64_t serial, size_t from, size_t to) {
    return serial << 16 | from << 8 | to;
}

static bool may_be(const struct placed_kind *kind, uint64_t before, uint64_t after,
                   uint64_t result) {
    if (before == after)
        return result == kind->states[before >> 8 & 0xff].result ||
               result == kind->states[before & 0xff].result;
    for (size_t state = 0; state < kind->state_count; state++)
        if (result == kind->states[state].result)
            return true;
    return false;
}

static void note_wrong_result(size_t site, uint64_t before, uint64_t after, uint64_t result) {
    if (__atomic_fetch_add(&load.wrong, 1, __ATOMIC_SEQ_CST))
        return;
    snprintf(load.text, sizeof load.text,
             "site %zu returns 0x%llx, in phase 0x%llx when called and 0x%llx afterwards", site,
             (unsigned long long)result, (unsigned long long)before, (unsigned long long)after);
}

void placed_run(void) {
    const struct placed_kind *kind = __atomic_load_n(&load.kind, __ATOMIC_SEQ_CST);
    for (size_t i = 0; kind && i < kind->count; i++) {
        uint64_t before = __atomic_load_n(&load.phase, __ATOMIC_SEQ_CST);
        uint64_t result = kind->sites[i].function(PLACED_ARGUMENT);
        uint64_t after = __atomic_load_n(&load.phase, __ATOMIC_SEQ_CST);
        if (!may_be(kind, before, after, result))
            note_wrong_result(i, before, after, result);
    }
}

static void run_until_stopped(void) {
    placed_run();
    __atomic_fetch_add(&load.running, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&load.stop, __ATOMIC_RELAXED))
        placed_run();
}

/* Commits once. Afterwards this thread too must see the new state, at every site. */
static bool flip_once(uint64_t serial, size_t from, size_t to, struct verdict *verdict) {
    const struct placed_kind *kind = load.kind;
    __atomic_store_n(&load.phase, make_phase(serial, from, to), __ATOMIC_SEQ_CST);
    int error = placed_commit(kind->key, kind->states[to].value);
    if (kind->in_text && carry_patch_refusal)
        to = 0;
    __atomic_store_n(&load.phase, make_phase(serial, to, to), __ATOMIC_SEQ_CST);
    if (error)
        return verdict_fail(verdict, "commit %llu returns %d", (unsigned long long)serial, error);
    for (size_t i = 0; i < kind->count; i++) {
        uint64_t result = kind->sites[i].function(PLACED_ARGUMENT);
        if (result != kind->states[to].result)
            return verdict_fail(verdict, "after commit %llu, site %zu returns 0x%llx",
                                (unsigned long long)serial, i, (unsigned long long)result);
    }
    return true;
}

static void flip_often(size_t flips, struct verdict *verdict) {
    size_t states = load.kind->state_count;
    size_t state = 0;
    rng_restart();
    for (uint64_t serial = 1; serial <= flips && !__atomic_load_n(&load.wrong, __ATOMIC_RELAXED);
         serial++) {
        size_t next = (state + 1 + rng_below(states - 1)) % states;
        if (!flip_once(serial, state, next, verdict))
            return;
        state = next;
    }
    flip_once(flips + 1, state, 0, verdict);
}

struct verdict check_flips(const struct placed_kind *kind, size_t flips, size_t threads) {
    struct verdict verdict = {.ok = true};
    int error = placed_commit(kind->key, kind->states[0].value);
    if (error)
        verdict_fail(&verdict, "the first commit returns %d", error);
    /* Threads may still run the sites of the previous kind: these are in their first state too. */
    load.wrong = 0;
    load.running = 0;
    load.stop = false;
    __atomic_store_n(&load.phase, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&load.kind, kind, __ATOMIC_SEQ_CST);
    size_t started = placed_start(run_until_stopped, threads);
    if (started < threads)
        verdict_fail(&verdict, "no thread");
    while (__atomic_load_n(&load.running, __ATOMIC_SEQ_CST) < started)
        placed_yield();
    if (verdict.ok)
        flip_often(flips, &verdict);
    __atomic_store_n(&load.stop, true, __ATOMIC_SEQ_CST);
    placed_join();
    if (load.wrong)
        verdict_fail(&verdict, "; %zu wrong results: %s", load.wrong, load.text);
    return verdict;
}
