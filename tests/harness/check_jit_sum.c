/* SPDX-License-Identifier: MIT */
#include "harness/check_jit_sum.h"

#include <string.h>

#include "harness/call.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/pattern.h"
#include "harness/rng.h"

#define MARGIN_BYTES 64
#define PLACE_BYTES  256 /* runs in the middle begin within this many bytes */
#define RANGE_SIZES  12  /* random sizes of a range; at level short a third of them */
#define LARGE_MIN    20000

/* A running check and its current call, for the message. */
struct trial {
    const struct carry_jit_sum_spec *spec;
    const struct carry_jit *jit;
    const struct effort *effort;
    struct verdict verdict;
    const char *pattern;
    size_t size;
    size_t from, to; /* addresses modulo 64 */
    uint32_t seed;
};

/* --- Memory --- */

static struct guard guard_of(struct guard *guard) {
    if (!guard->start)
        *guard = guard_open(PLACE_BYTES + CHECK_JIT_SUM_SIZE_MAX + MARGIN_BYTES);
    return *guard;
}

static struct guard source_of(size_t pattern) {
    static struct guard sources[PATTERN_COUNT];
    const bool filled = sources[pattern].start;
    struct guard source = guard_of(&sources[pattern]);
    if (!filled)
        patterns[pattern].fill(source.start, (size_t)(source.end - source.start));
    return source;
}

static struct guard target_guard(void) {
    static struct guard memory;
    return guard_of(&memory);
}

/* Returns the previous contents of the target. */
static const unsigned char *noise_bytes(void) {
    static unsigned char bytes[MARGIN_BYTES + CHECK_JIT_SUM_SIZE_MAX + MARGIN_BYTES];
    static bool filled;
    if (!filled)
        rng_fill(bytes, sizeof bytes);
    filled = true;
    return bytes;
}

enum place { AT_START, AT_END, ANYWHERE };

static unsigned char *place_in(struct guard memory, enum place place, size_t size,
                               size_t alignment) {
    const size_t room = (size_t)(memory.end - memory.start) - size;
    if (place == AT_START)
        return memory.start;
    if (place == AT_END)
        return memory.start + room / alignment * alignment;
    return memory.start + rng_below(PLACE_BYTES / alignment + 1) * alignment;
}

/* --- One call --- */

static bool fail_call(struct trial *trial, const char *what) {
    return verdict_fail(&trial->verdict, "%s", what);
}

static uint32_t result_of(uint32_t kind, uint16_t sum) {
    const uint16_t inverted = (uint16_t)~sum;
    if (kind == CARRY_JIT_FINISH_NONZERO && !inverted)
        return 0xffff;
    return kind == CARRY_JIT_FINISH || kind == CARRY_JIT_FINISH_NONZERO ? inverted : sum;
}

static bool judge_call(struct trial *trial, uint32_t result, const unsigned char *from) {
    const uint32_t kind = trial->spec->result;
    const bool known = trial->spec->flags & CARRY_JIT_SEED;
    const uint32_t seed = known ? trial->spec->seed : trial->seed;
    const uint32_t wanted = result_of(kind, oracle_sum(from, trial->size, seed));
    const uint32_t got = kind == CARRY_JIT_PARTIAL ? oracle_fold(result) : result;
    return got == wanted || verdict_fail(&trial->verdict, "gives 0x%04x, not 0x%04x", got, wanted);
}

/* Returns the size to pass: any size for a function of one size, because it must ignore this
   argument. */
static size_t size_told(const struct trial *trial) {
    const bool exact = trial->spec->min_size == trial->spec->max_size;
    return exact ? (size_t)rng_next() : trial->size;
}

static bool sum_gives(struct trial *trial, const unsigned char *from) {
    const uint32_t result =
        call_checked(trial->jit->sum, from, size_told(trial), trial->seed, true, &trial->verdict);
    return trial->verdict.ok && judge_call(trial, result, from);
}

static size_t at_most(size_t size, ptrdiff_t limit) {
    return size < (size_t)limit ? size : (size_t)limit;
}

static bool copy_gives(struct trial *trial, unsigned char *to, const unsigned char *from) {
    const struct guard memory = target_guard();
    const size_t before = at_most(MARGIN_BYTES, to - memory.start);
    const size_t behind = at_most(MARGIN_BYTES, memory.end - (to + trial->size));
    memcpy(to - before, noise_bytes(), before + trial->size + behind);
    const uint32_t result = call_checked_sum_copy(trial->jit->sum_copy, to, from, size_told(trial),
                                                  trial->seed, &trial->verdict);
    if (memcmp(to, from, trial->size))
        return fail_call(trial, "copies wrongly");
    if (memcmp(to - before, noise_bytes(), before) ||
        memcmp(to + trial->size, noise_bytes() + before + trial->size, behind))
        return fail_call(trial, "writes outside the target");
    return trial->verdict.ok && judge_call(trial, result, from);
}

static bool call_at(struct trial *trial, size_t pattern, enum place place, size_t size,
                    uint32_t seed) {
    const size_t alignment = trial->spec->alignment ? trial->spec->alignment : 1;
    const unsigned char *from = place_in(source_of(pattern), place, size, alignment);
    unsigned char *to = place_in(target_guard(), place, size, alignment);
    trial->pattern = patterns[pattern].name;
    trial->size = size;
    trial->from = (uintptr_t)from % 64;
    trial->to = (uintptr_t)to % 64;
    trial->seed = seed;
    trial->verdict.calls++;
    if (trial->spec->flags & CARRY_JIT_COPY)
        return copy_gives(trial, to, from);
    return sum_gives(trial, from);
}

/* --- All calls --- */

static uint32_t some_seed(void) {
    const uint32_t seeds[] = {0, 1, 0xffff, 0xffffffff, (uint32_t)rng_next()};
    return seeds[rng_below(sizeof seeds / sizeof *seeds)];
}

static bool is_short(const struct trial *trial) {
    return trial->effort->stride > 1;
}

/* Returns on how many randomly chosen patterns a size is tried. */
static size_t pattern_count(const struct trial *trial, size_t size) {
    if (!is_short(trial))
        return PATTERN_COUNT / 2;
    return size < LARGE_MIN ? PATTERN_PLAIN_COUNT : 0;
}

static bool size_passes(struct trial *trial, size_t size) {
    for (size_t i = pattern_count(trial, size); i > 0; i--)
        if (!call_at(trial, rng_below(PATTERN_COUNT), rng_below(2) ? AT_END : ANYWHERE, size,
                     some_seed()))
            return false;
    return call_at(trial, PATTERN_RANDOM, AT_START, size, (uint32_t)rng_next()) &&
           call_at(trial, PATTERN_ONES, AT_END, size, 0xffffffff);
}

static void try_sizes(void *argument) {
    struct trial *trial = argument;
    const struct carry_jit_sum_spec *spec = trial->spec;
    const size_t unit = spec->multiple ? spec->multiple : 1;
    const size_t steps = (spec->max_size - spec->min_size) / unit;
    if (!size_passes(trial, spec->min_size) || !steps)
        return;
    if (!size_passes(trial, spec->max_size))
        return;
    for (size_t i = 0; i < RANGE_SIZES / (is_short(trial) ? 3 : 1); i++)
        if (!size_passes(trial, spec->min_size + rng_below(steps + 1) * unit))
            return;
}

struct verdict check_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit *jit,
                             const struct effort *effort) {
    struct trial trial = {
        .spec = spec, .jit = jit, .effort = effort, .verdict.ok = true, .pattern = "nothing"};
    struct fault fault;
    if (!fault_catch(try_sizes, &trial, &fault))
        verdict_fail(&trial.verdict, "reads or writes outside: %s", fault.name);
    if (!trial.verdict.ok)
        verdict_fail(&trial.verdict,
                     " at size %zu, source offset %zu, target offset %zu, seed 0x%x"
                     ", on %s",
                     trial.size, trial.from, trial.to, trial.seed, trial.pattern);
    return trial.verdict;
}
