/* SPDX-License-Identifier: MIT */
#include "harness/check_patch.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>

CARRY_OP(uint64_t, placed_call, uint64_t);

#define THREADS_MAX 16

/* --- Out of range --- */

#define FAR (UINT64_C(1) << 36)

placed_fn *placed_far(placed_fn *function) {
    uintptr_t hint = ((uintptr_t)function ^ FAR) & ~UINT64_C(0xfffff);
    uint8_t *code = mmap((void *)hint, PLACED_JUMP_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    placed_write_jump(code, function);
    intptr_t distance = (intptr_t)code - (intptr_t)function;
    if (distance == (int32_t)distance || mprotect(code, PLACED_JUMP_BYTES, PROT_READ | PROT_EXEC))
        return NULL;
    return (placed_fn *)(uintptr_t)code;
}

/* --- Threads --- */

static struct {
    void (*run)(void);
    pthread_t ids[THREADS_MAX];
    size_t count;
} threads;

static void *run_thread(void *unused) {
    threads.run();
    return unused;
}

size_t placed_start(void (*run)(void), size_t count) {
    threads.run = run;
    threads.count = 0;
    while (threads.count < count &&
           !pthread_create(&threads.ids[threads.count], NULL, run_thread, NULL))
        threads.count++;
    return threads.count;
}

void placed_join(void) {
    while (threads.count)
        pthread_join(threads.ids[--threads.count], NULL);
}

void placed_yield(void) {
    sched_yield();
}

/* --- Threads inside the function while its call changes --- */

static sem_t entered;
static sem_t leave;

static uint64_t park_in_callee(uint64_t number) {
    sem_post(&entered);
    while (sem_wait(&leave))
        ;
    return number + 77;
}

static void *call_parked(void *site) {
    uint64_t result = ((const struct placed *)site)->function(PLACED_ARGUMENT);
    return (void *)(uintptr_t)result;
}

/* Calls a site in C: the compiler keeps a value across the call. */
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
    placed_fn *const from[] = {park_in_callee, placed_far(park_in_callee)};
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
