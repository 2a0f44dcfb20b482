/* SPDX-License-Identifier: MIT */
/* Provides bounds for all peers: functions that do nothing, a direct call, and a function that only
 * loads the bytes. */
#include "peer.h"

#include "bench/load.h"
#include "branches.h"
#include "callee.h"

/* Does nothing; its result depends on its arguments, as the latency mode needs. */
static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    (void)size;
    return (uint32_t)(uintptr_t)data + seed;
}

static uint32_t sum_copy(void *to, const void *data, size_t size, uint32_t seed) {
    (void)to, (void)size;
    return (uint32_t)(uintptr_t)data + seed;
}

static void copy(void *to, const void *data, size_t size) {
    (void)to, (void)data, (void)size;
}

/* Runs an empty loop that the compiler cannot remove. */
static size_t loop(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        __asm__ volatile("inc %0" : "+r"(count) : : "cc");
    return count;
}

BRANCHES(no_branches, 0)

PEER_FUNCTION(sum_row) = {"floor", "sum", "floor", PEER_SUM, {.sum = sum}};
PEER_FUNCTION(sum_copy_row) = {
    "floor-sum-copy", "sum_copy", "floor", PEER_SUM_COPY, {.sum_copy = sum_copy}};
PEER_FUNCTION(copy_row) = {"floor-copy", "copy", "floor", PEER_COPY, {.copy = copy}};
PEER_CHAIN_FUNCTION(chain_row, "floor", "floor", sum, NULL);
PEER_FUNCTION(call_row) = {"floor-call", "call", "floor", PEER_LOOP, {.loop = loop}};
PEER_FUNCTION(branch_row) = {"floor-branch", "branch", "floor", PEER_LOOP, {.loop = no_branches}};

/* Calls directly, as patched calls do. */
static size_t direct_call(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        count = peer_callee(count);
    return count;
}

PEER_FUNCTION(direct_row) = {"direct", "call", "bound", PEER_LOOP, {.loop = direct_call}};

/* The widest loads of this CPU, chosen when the process starts. */
PEER_FUNCTION(load_row) = {"load", "sum", "bound", PEER_SUM, {.sum = NULL}};

__attribute__((constructor)) static void choose(void) {
    load_row.sum = bench_load_widest().load;
}
