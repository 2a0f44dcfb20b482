/* SPDX-License-Identifier: MIT */
#include "harness/check_patch.h"

#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/rng.h"
#include "patch/patch.h"

#define THREADS_MAX 16

CARRY_OP(uint64_t, placed_call, uint64_t);
CARRY_OP(uint64_t, placed_jump, uint64_t);
CARRY_KEY(placed_unlikely);
CARRY_KEY(placed_likely);
CARRY_KEY(placed_bytes1);
CARRY_KEY(placed_bytes2);
CARRY_KEY(placed_bytes4);
CARRY_KEY(placed_bytes5);
CARRY_KEY(placed_bytes10);
CARRY_KEY(placed_empty10);

/* --- What the sites do --- */

static uint64_t add1(uint64_t number) {
    return number + 1;
}

static uint64_t add2(uint64_t number) {
    return number + 2;
}

static uint64_t add3(uint64_t number) {
    CARRY_BODY(add3, "leaq 3(%%rdi), %%rax");
    return number + 3;
}

static uint32_t placed_number __attribute__((used)) = 4444;

static uint64_t get_number(uint64_t number) {
    CARRY_BODY_RELATIVE(get_number, "movl placed_number(%%rip), %%eax");
    (void)number;
    return placed_number;
}

CARRY_OP_DEFINE(placed_call, add1);
CARRY_OP_DEFINE(placed_jump, add1);
CARRY_KEY_DEFINE(placed_unlikely, false);
CARRY_KEY_DEFINE(placed_likely, false);
CARRY_KEY_DEFINE(placed_bytes1, false);
CARRY_KEY_DEFINE(placed_bytes2, false);
CARRY_KEY_DEFINE(placed_bytes4, false);
CARRY_KEY_DEFINE(placed_bytes5, false);
CARRY_KEY_DEFINE(placed_bytes10, false);
CARRY_KEY_DEFINE(placed_empty10, false);

/* --- Out of reach --- */

#define FAR (UINT64_C(1) << 36)

placed_fn *placed_far(placed_fn *function) {
    static const uint8_t jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    uintptr_t hint = ((uintptr_t)function ^ FAR) & ~UINT64_C(0xfffff);
    uint8_t *code =
        mmap((void *)hint, sizeof jump, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    memcpy(code, jump, sizeof jump);
    memcpy(code + 2, &function, sizeof function);
    intptr_t distance = (intptr_t)code - (intptr_t)function;
    if (distance == (int32_t)distance || mprotect(code, sizeof jump, PROT_READ | PROT_EXEC))
        return NULL;
    return (placed_fn *)(uintptr_t)code;
}

/* --- The list --- */

#define PLACED(name)                                                                               \
    extern const struct placed placed_##name[];                                                    \
    extern const size_t placed_##name##_count;
PLACED(call)
PLACED(jump)
PLACED(unlikely)
PLACED(likely)
PLACED(bytes1)
PLACED(bytes2)
PLACED(bytes4)
PLACED(bytes5)
PLACED(bytes10)
PLACED(empty10)

#define KIND(name, prefix, length, in_text, ...)                                                   \
    {                                                                                              \
#name, length, in_text, &carry_##prefix##_placed_##name, placed_##name,                    \
            placed_##name##_count,                                                                 \
            sizeof((struct placed_state[]){__VA_ARGS__}) / sizeof(struct placed_state), {          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

const struct placed_kind *placed_kinds(void) {
    static struct placed_kind kinds[PLACED_KINDS];
    if (kinds[0].name)
        return kinds;
    placed_fn *far = placed_far(add1);
    const uintptr_t first = (uintptr_t)(far ? far : add1);
    const uint64_t number = PLACED_ARGUMENT;
    const struct placed_kind all[PLACED_KINDS] = {
        KIND(call, op, 6, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}, {(uintptr_t)get_number, 4444},
             {(uintptr_t)carry_patch_nothing, 0}, {(uintptr_t)add1, number + 1}),
        KIND(jump, op, 6, false, {first, number + 1}, {(uintptr_t)add2, number + 2},
             {(uintptr_t)add3, number + 3}),
        KIND(unlikely, key, 5, false, {0, 0}, {1, 1}),
        KIND(likely, key, 5, false, {0, 1}, {1, 0}),
        KIND(bytes1, key, 1, true, {0, 0}, {1, 1}),
        KIND(bytes2, key, 2, true, {0, 0}, {1, UINT32_MAX}),
        KIND(bytes4, key, 4, true, {0, 1}, {1, 2}),
        KIND(bytes5, key, 5, true, {0, 1}, {1, 2}),
        KIND(bytes10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 2}),
        KIND(empty10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 0}),
    };
    memcpy(kinds, all, sizeof kinds);
    return kinds;
}

int placed_commit(struct carry_key *key, uintptr_t value) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, key, value);
    return carry_patch_commit(&patch);
}

bool placed_in_qemu(void) {
    unsigned eax, name[3];
    __cpuid(0x40000000, eax, name[0], name[1], name[2]);
    return !memcmp(name, "TCGTCGTCGTCG", sizeof name);
}

/* --- Flips under load --- */

/* What the threads of a check share. */
static struct {
    const struct placed_kind *kind;
    /* A serial number, the state before and the state after: equal where no commit is under way. */
    uint64_t phase;
    bool stop;
    size_t running; /* threads that have run all sites at least once */
    size_t wrong;
    char text[160]; /* of the first thread that saw something wrong */
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

static void complain(size_t site, uint64_t before, uint64_t after, uint64_t result) {
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
            complain(i, before, after, result);
    }
}

static void *run_until_stopped(void *unused) {
    placed_run();
    __atomic_fetch_add(&load.running, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&load.stop, __ATOMIC_RELAXED))
        placed_run();
    return unused;
}

/* One commit; afterwards this thread too must see the new state, at every site. */
static bool flip(uint64_t serial, size_t from, size_t to, struct verdict *verdict) {
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
        if (!flip(serial, state, next, verdict))
            return;
        state = next;
    }
    flip(flips + 1, state, 0, verdict);
}

struct verdict check_flips(const struct placed_kind *kind, size_t flips, size_t threads) {
    struct verdict verdict = {.ok = true};
    pthread_t ids[THREADS_MAX];
    size_t started = 0;
    int error = placed_commit(kind->key, kind->states[0].value);
    if (error)
        verdict_fail(&verdict, "the first commit returns %d", error);
    /* The sites of the kind before are in their first state too. */
    load.wrong = 0;
    load.running = 0;
    load.stop = false;
    __atomic_store_n(&load.phase, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&load.kind, kind, __ATOMIC_SEQ_CST);
    while (started < threads && !pthread_create(&ids[started], NULL, run_until_stopped, NULL))
        started++;
    if (started < threads)
        verdict_fail(&verdict, "no thread");
    while (__atomic_load_n(&load.running, __ATOMIC_SEQ_CST) < started)
        sched_yield();
    if (verdict.ok)
        flip_often(flips, &verdict);
    __atomic_store_n(&load.stop, true, __ATOMIC_SEQ_CST);
    while (started)
        pthread_join(ids[--started], NULL);
    if (load.wrong)
        verdict_fail(&verdict, "; %zu wrong results: %s", load.wrong, load.text);
    return verdict;
}

/* --- Inside the function, while its call changes --- */

static sem_t entered;
static sem_t leave;

static uint64_t park(uint64_t number) {
    sem_post(&entered);
    while (sem_wait(&leave))
        ;
    return number + 77;
}

static void *call_parked(void *site) {
    uint64_t result = ((const struct placed *)site)->function(PLACED_ARGUMENT);
    return (void *)(uintptr_t)result;
}

/* What the compiler puts around a site keeps a value across the call. */
static void *call_parked_in_c(void *site) {
    uint64_t result = carry_call(placed_call)(PLACED_ARGUMENT);
    return (void *)(uintptr_t)(site ? result : 0);
}

static bool return_to(void *(*body)(void *), size_t site, uintptr_t from,
                      const struct placed_state *to, struct verdict *verdict) {
    const struct placed_kind *kind = &placed_kinds()[0];
    pthread_t thread;
    void *result = NULL;
    if (placed_commit(kind->key, from) ||
        pthread_create(&thread, NULL, body, (void *)(uintptr_t)&kind->sites[site]))
        return verdict_fail(verdict, "no commit, or no thread");
    while (sem_wait(&entered))
        ;
    int error = placed_commit(kind->key, to->value);
    sem_post(&leave);
    pthread_join(thread, &result);
    if (error || (uintptr_t)result != PLACED_ARGUMENT + 77)
        return verdict_fail(verdict, "commit: %d; the call of site %zu returns %llu", error, site,
                            (unsigned long long)(uintptr_t)result);
    uint64_t again = kind->sites[site].function(PLACED_ARGUMENT);
    return again == to->result ||
           verdict_fail(verdict, "afterwards the call returns %llu", (unsigned long long)again);
}

struct verdict check_parked(size_t rounds) {
    struct verdict verdict = {.ok = true};
    const struct placed_kind *kind = &placed_kinds()[0];
    placed_fn *const from[] = {park, placed_far(park)};
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    for (size_t round = 0; round < rounds && verdict.ok; round++)
        for (size_t i = 0; i < sizeof from / sizeof *from && from[i]; i++)
            for (size_t to = 0; to < kind->state_count && verdict.ok; to++) {
                size_t site = (round * kind->state_count + to) % kind->count;
                return_to(call_parked, site, (uintptr_t)from[i], &kind->states[to], &verdict);
                if (verdict.ok)
                    return_to(call_parked_in_c, site, (uintptr_t)from[i], &kind->states[to],
                              &verdict);
            }
    if (verdict.ok)
        placed_commit(kind->key, kind->states[0].value);
    return verdict;
}
