/* SPDX-License-Identifier: MIT */
#include "harness/check_sum.h"

#include <signal.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/pattern.h"
#include "harness/rng.h"

#define OFFSET_COUNT 64
#define DENSE_MAX    4096
#define SAMPLED_MAX  ((size_t)1 << 20)
#define NOISE_BYTES  64 /* around a run, so that a byte too many or too few changes the value */

/* A running check. The last call is kept for the message, in case it faults. */
struct trial {
    const struct oracle_kind *oracle;
    carry_sum_fn *sum;
    const struct effort *effort;
    struct verdict verdict;
    const char *pattern;
    const unsigned char *data;
    size_t size;
    uint32_t seed;
};

/* Adds the description of the call to the verdict's message. Returns false. */
static bool fail_at(struct trial *trial) {
    return verdict_fail(&trial->verdict, "at size %zu, offset %zu, seed 0x%x, on %s", trial->size,
                        (size_t)((uintptr_t)trial->data % OFFSET_COUNT), trial->seed,
                        trial->pattern);
}

static void note_call(struct trial *trial, const void *data, size_t size, uint32_t seed) {
    trial->data = data;
    trial->size = size;
    trial->seed = seed;
    trial->verdict.calls++;
}

static bool judge_result(struct trial *trial, uint32_t result, uint32_t wanted) {
    uint32_t got = trial->oracle->fold(result);
    if (got == wanted)
        return true;
    verdict_fail(&trial->verdict, "folds to 0x%04x, not 0x%04x, ", got, wanted);
    return fail_at(trial);
}

static bool sum_gives(struct trial *trial, const void *data, size_t size, uint32_t seed,
                      uint32_t wanted) {
    note_call(trial, data, size, seed);
    return judge_result(trial, trial->sum(data, size, seed), wanted);
}

static void describe_fault(struct trial *trial, const struct fault *fault) {
    uintptr_t start = (uintptr_t)trial->data;
    uintptr_t end = start + trial->size;
    bool access = fault->signal == SIGSEGV || fault->signal == SIGBUS;
    if (access && fault->address >= end && fault->address - end < SAMPLED_MAX)
        verdict_fail(&trial->verdict, "reads past the end, at end + %zu, ",
                     (size_t)(fault->address - end));
    else if (access && fault->address < start && start - fault->address < SAMPLED_MAX)
        verdict_fail(&trial->verdict, "reads before the start, at start - %zu, ",
                     (size_t)(start - fault->address));
    else
        verdict_fail(&trial->verdict, "%s at address %p, ", fault->name, (void *)fault->address);
    fail_at(trial);
}

static struct verdict run_sum_trial(const struct oracle_kind *oracle, carry_sum_fn *sum,
                                    const struct effort *effort, void (*body)(void *)) {
    struct trial trial = {
        .oracle = oracle, .sum = sum, .effort = effort, .verdict.ok = true, .pattern = "nothing"};
    struct fault fault;
    rng_restart();
    if (!fault_catch(body, &trial, &fault))
        describe_fault(&trial, &fault);
    return trial.verdict;
}

#define SEED_COUNT 6

/* The seeds of one run and, for each seed, the state of the oracle after the bytes so far. */
struct seeds {
    size_t count;
    uint32_t values[SEED_COUNT];
    struct oracle oracles[SEED_COUNT];
};

static struct seeds start_seeds(const struct oracle_kind *oracle) {
    struct seeds seeds = {.count = SEED_COUNT,
                          .values = {0, 1, 0xffff, 0x10000, 0xffffffff, (uint32_t)rng_next()}};
    for (size_t i = 0; i < SEED_COUNT; i++)
        seeds.oracles[i] = oracle->start(seeds.values[i]);
    return seeds;
}

/* Keeps the random seed, and another seed that `number` selects. */
static void keep_two(struct seeds *seeds, size_t number) {
    const size_t kept[2] = {number % (SEED_COUNT - 1), SEED_COUNT - 1};
    for (size_t i = 0; i < 2; i++) {
        seeds->values[i] = seeds->values[kept[i]];
        seeds->oracles[i] = seeds->oracles[kept[i]];
    }
    seeds->count = 2;
}

static bool all_seeds_give(struct trial *trial, const unsigned char *data, size_t size,
                           const struct seeds *seeds) {
    for (size_t i = 0; i < seeds->count; i++)
        if (!sum_gives(trial, data, size, seeds->values[i],
                       trial->oracle->value(&seeds->oracles[i])))
            return false;
    return true;
}

/*
 * Grows a run of the pattern at `offset` by one byte at a time up to `max`, and sums it at the
 * sizes that the effort picks from `from` on.
 */
static bool sum_growing_run(struct trial *trial, struct seeds seeds, const struct pattern *pattern,
                            size_t offset, size_t from, size_t max) {
    static unsigned char source[SAMPLED_MAX];
    static unsigned char buffer[OFFSET_COUNT + NOISE_BYTES + SAMPLED_MAX + NOISE_BYTES]
        __attribute__((aligned(OFFSET_COUNT)));
    unsigned char *data = buffer + NOISE_BYTES + offset;

    trial->pattern = pattern->name;
    pattern->fill(source, max);
    rng_fill(buffer, (size_t)(data - buffer) + max + NOISE_BYTES);
    size_t next = from;
    for (size_t size = 0;; size++) {
        if (size == next || size == max) {
            if (!all_seeds_give(trial, data, size, &seeds))
                return false;
            next = effort_next_size(trial->effort, size);
        }
        if (size == max)
            return true;
        data[size] = source[size];
        for (size_t i = 0; i < seeds.count; i++)
            trial->oracle->byte(&seeds.oracles[i], source[size]);
    }
}

/*
 * Tries every size at every offset: a kernel may treat each of them differently, and each branch
 * may lose a carry of the seed. No branch depends on the seed, so below level long only two seeds
 * are tried at each offset, and all seeds at each size.
 */
static void try_values(void *argument) {
    struct trial *trial = argument;
    struct seeds seeds = start_seeds(trial->oracle);
    if (!all_seeds_give(trial, NULL, 0, &seeds))
        return;
    for (size_t i = 0; i < PATTERN_PLAIN_COUNT; i++)
        for (size_t offset = 0; offset < OFFSET_COUNT; offset++) {
            seeds = start_seeds(trial->oracle);
            if (!trial->effort->all)
                keep_two(&seeds, offset);
            if (!sum_growing_run(trial, seeds, &patterns[i], offset, 0, DENSE_MAX))
                return;
        }
}

struct verdict check_values(const struct oracle_kind *oracle, carry_sum_fn *sum,
                            const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_values);
}

static void try_carries(void *argument) {
    struct trial *trial = argument;
    for (size_t i = 0; i < PATTERN_COUNT; i++)
        for (int round = 0; round < 4; round++)
            if (!sum_growing_run(trial, start_seeds(trial->oracle), &patterns[i],
                                 rng_below(OFFSET_COUNT), 0, DENSE_MAX))
                return;
}

struct verdict check_carries(const struct oracle_kind *oracle, carry_sum_fn *sum,
                             const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_carries);
}

/* Returns the largest size to sample. It is limited, because the oracle reads every byte. */
static size_t sampled_max(const struct trial *trial) {
    return trial->effort->largest_run < SAMPLED_MAX ? (size_t)trial->effort->largest_run
                                                    : SAMPLED_MAX;
}

static void try_sampled(void *argument) {
    struct trial *trial = argument;
    for (size_t i = 0; i < PATTERN_COUNT; i++)
        if (!sum_growing_run(trial, start_seeds(trial->oracle), &patterns[i],
                             rng_below(OFFSET_COUNT), DENSE_MAX, sampled_max(trial)))
            return;
}

struct verdict check_sampled(const struct oracle_kind *oracle, carry_sum_fn *sum,
                             const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_sampled);
}

/* A multiple of every page size in use, and of every pattern. */
#define BLOCK_BYTES ((size_t)1 << 20)

/* Sizes at which 32-bit lanes, 32-bit sums of words and 32-bit sizes overflow. */
static const uint64_t large_sizes[] = {
    (UINT64_C(2) << 20) + 1,
    (UINT64_C(16) << 20) + 3,
    (UINT64_C(80) << 20) + 5,
    (UINT64_C(4) << 30) + 5,
};

#define LARGE_COUNT (sizeof large_sizes / sizeof *large_sizes)
#define LARGE_SEED  0xfffe0001u

/* Returns the values of a pattern at all large sizes. They are cached: the oracle computes them
   once for all kernels. */
static const uint32_t *large_values(const struct oracle_kind *kind, size_t pattern,
                                    const unsigned char *block, size_t count) {
    static struct {
        const struct oracle_kind *known; /* the oracle of the values */
        uint32_t value[LARGE_COUNT];
    } table[PATTERN_COUNT];
    uint64_t size = 0;
    struct oracle oracle = kind->start(LARGE_SEED);
    for (size_t i = 0; i < count && table[pattern].known != kind; i++) {
        for (; size < large_sizes[i]; size++)
            kind->byte(&oracle, block[size % BLOCK_BYTES]);
        table[pattern].value[i] = kind->value(&oracle);
    }
    table[pattern].known = kind;
    return table[pattern].value;
}

static bool large_pattern(struct trial *trial, size_t pattern, size_t count) {
    static unsigned char block[BLOCK_BYTES];
    size_t largest = (size_t)large_sizes[count - 1];
    patterns[pattern].fill(block, BLOCK_BYTES);
    trial->pattern = patterns[pattern].name;
    const uint32_t *wanted = large_values(trial->oracle, pattern, block, count);
    const unsigned char *data = guard_repeat(block, BLOCK_BYTES, largest);
    if (!data)
        return verdict_fail(&trial->verdict, "no address space for %zu bytes", largest);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = sum_gives(trial, data, (size_t)large_sizes[i], LARGE_SEED, wanted[i]);
    guard_repeat_close(data, BLOCK_BYTES, largest);
    return ok;
}

/* Tries large sizes on the largest words of either sign, which overflow lanes. A CRC has no lanes:
   only the size matters. */
static void try_large(void *argument) {
    static const size_t chosen[] = {PATTERN_ONES, PATTERN_ZEROS, PATTERN_LOWEST, PATTERN_HIGHEST};
    struct trial *trial = argument;
    uint64_t limit = trial->effort->largest_run < SIZE_MAX ? trial->effort->largest_run : SIZE_MAX;
    size_t count = 0;
    while (count < LARGE_COUNT && large_sizes[count] <= limit)
        count++;
    const bool adds = trial->oracle == &oracle_internet;
    for (size_t i = 0; i < (adds || trial->effort->all ? sizeof chosen / sizeof *chosen : 1); i++)
        if (!large_pattern(trial, chosen[i], count))
            return;
}

struct verdict check_large(const struct oracle_kind *oracle, carry_sum_fn *sum,
                           const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_large);
}

static bool edges_give(struct trial *trial, const struct guard *guard, size_t size) {
    const unsigned char *last = guard->end - size;
    const uint32_t seed = (uint32_t)rng_next();
    return sum_gives(trial, last, size, seed, oracle_run(trial->oracle, last, size, seed)) &&
           sum_gives(trial, guard->start, size, seed,
                     oracle_run(trial->oracle, guard->start, size, seed));
}

static void try_edges(void *argument) {
    struct trial *trial = argument;
    static struct guard guard;
    if (!guard.start)
        guard = guard_open(SAMPLED_MAX);
    trial->pattern = "random data";
    rng_fill(guard.start, (size_t)(guard.end - guard.start));
    for (size_t size = 0; size <= sampled_max(trial); size = effort_next_size(trial->effort, size))
        if (!edges_give(trial, &guard, size))
            return;
}

struct verdict check_edges(const struct oracle_kind *oracle, carry_sum_fn *sum,
                           const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_edges);
}

/* Checks the result of one call with garbage in registers. A result that is wrong only here depends
   on the contents of registers. */
static bool checked_call_gives(struct trial *trial, const void *data, size_t size) {
    const uint32_t seed = (uint32_t)rng_next();
    const uint32_t wanted = oracle_run(trial->oracle, data, size, seed);
    note_call(trial, data, size, seed);
    uint32_t partial = call_checked(trial->sum, data, size, seed, true, &trial->verdict);
    if (trial->verdict.ok && trial->oracle->fold(partial) != wanted) {
        partial = call_checked(trial->sum, data, size, seed, false, &trial->verdict);
        verdict_fail(&trial->verdict, trial->oracle->fold(partial) == wanted
                                          ? "uses the upper half of its 32-bit argument, "
                                          : "relies on registers that callers do not set, ");
    }
    return trial->verdict.ok || fail_at(trial);
}

static void try_abi(void *argument) {
    static unsigned char buffer[OFFSET_COUNT + (1 << 16)] __attribute__((aligned(OFFSET_COUNT)));
    struct trial *trial = argument;
    trial->pattern = "random data";
    rng_fill(buffer, sizeof buffer);
    for (size_t size = 0; size <= 300; size++)
        for (size_t offset = 0; offset < OFFSET_COUNT; offset++)
            if (!checked_call_gives(trial, buffer + offset, size))
                return;
    for (size_t size = 301; size < 1 << 16; size += 1 + rng_below(size / 8))
        if (!checked_call_gives(trial, buffer + rng_below(OFFSET_COUNT), size))
            return;
}

struct verdict check_abi(const struct oracle_kind *oracle, carry_sum_fn *sum,
                         const struct effort *effort) {
    return run_sum_trial(oracle, sum, effort, try_abi);
}

struct sum_check_row {
    const char *name;
    sum_check *check;
};

static const struct sum_check_row sum_checks[] = {
    {"values", check_values},
    {"carries", check_carries},
    {"sizes to 1 MiB", check_sampled},
    {"large sizes", check_large},
    {"edges", check_edges},
    {"calling convention", check_abi},
    {NULL, NULL},
};

void sum_check_all(const struct oracle_kind *oracle, carry_sum_fn *sum, const struct effort *effort,
                   const char *name) {
    for (const struct sum_check_row *row = sum_checks; row->name; row++) {
        struct verdict verdict = row->check(oracle, sum, effort);
        verdict_report(&verdict, "%s: %s", name, row->name);
    }
}
