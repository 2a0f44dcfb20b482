/* SPDX-License-Identifier: MIT */
/*
 * Tests sums made at run time: every size, with and without each feature, and the errors of specs.
 */
#include <stdio.h>
#include <string.h>

#include <carry/cpu.h>
#include <carry/jit.h>

#include "harness/call.h"
#include "harness/check_jit_sum.h"
#include "harness/effort.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define DENSE_MAX   2048
#define SPARSE_FROM 136 /* at level short: above the sizes that are summed by words only */

static const struct effort *effort;

/* --- Functions by the features of a CPU --- */

struct way {
    const char *mask;
    uint32_t vector_bits;
};

static const struct way ways[] = {
    {"", 0},
    {"", 64},
    {"bmi2", 64},
    {"", 128},
    {"avx512f", 128},
    {"", 256},
    {"prefer_multiply", 128},
    {"prefer_multiply", 256},
    {"prefer_multiply,avx512f", 256},
    {"avx512vnni", 256},
    {"avx512f", 256},
    {"avx512f,avxvnni", 256},
    {"", 512},
    {"avx512vnni", 512},
    {"prefer_multiply", 512},
};

static bool effort_is_short(void) {
    return effort->stride > 1;
}

/* Makes a function for the spec and checks it. */
static struct verdict check_spec(const struct carry_jit_sum_spec *spec) {
    const struct carry_jit *jit;
    struct verdict verdict = {.ok = true};
    const int error = carry_jit_sum(spec, &jit);
    if (error) {
        verdict_fail(&verdict, "is not made: error %d", error);
        return verdict;
    }
    verdict = check_jit_sum(spec, jit, effort);
    carry_jit_release(jit);
    return verdict;
}

/* Varies members that do not change which bytes are summed. */
static void vary_spec(struct carry_jit_sum_spec *spec) {
    spec->alignment = (size_t)1 << rng_below(8);
    spec->result = (uint32_t)rng_below(CARRY_JIT_RESULT_COUNT);
    if (rng_below(2)) {
        spec->flags |= CARRY_JIT_SEED;
        spec->seed = rng_below(4) ? (uint32_t)rng_next() : 0;
    }
}

static struct verdict check_size(size_t size, uint32_t vector_bits, uint32_t flags) {
    struct carry_jit_sum_spec spec = {
        .min_size = size, .max_size = size, .vector_bits = vector_bits, .flags = flags};
    struct verdict verdict = check_spec(&spec);
    if (!verdict.ok || (effort_is_short() && rng_below(4)))
        return verdict;
    vary_spec(&spec);
    return check_spec(&spec);
}

/*
 * Returns the next size to test. At level short, some sizes are skipped, because emulators must
 * translate each function.
 */
static size_t next_size(size_t size) {
    const bool some = effort_is_short() && size >= SPARSE_FROM;
    return size + 1 + (some ? rng_below(size / 4) : 0);
}

static void test_sizes(const struct way *way, uint32_t flags, const char *name) {
    static const size_t large[] = {2049, 2111, 4096, 9000, 65535, 130560, 131072, 131137, 300001};
    struct verdict verdict = {.ok = true};
    rng_restart();
    for (size_t size = 0; size <= DENSE_MAX && verdict.ok; size = next_size(size))
        verdict = check_size(size, way->vector_bits, flags);
    verdict_report(&verdict, "%s: sizes 0 to %d", name, DENSE_MAX);
    verdict.ok = true;
    for (size_t i = 0; i < sizeof large / sizeof *large && verdict.ok; i++)
        verdict = check_size(large[i], way->vector_bits, flags);
    verdict_report(&verdict, "%s: larger sizes", name);
}

/* --- Ranges of sizes --- */

static const struct carry_jit_sum_spec ranges[] = {
    {.min_size = 0, .max_size = 7},
    {.min_size = 0, .max_size = 64},
    {.min_size = 20, .max_size = 60, .multiple = 4},
    {.min_size = 0, .max_size = 128, .multiple = 2},
    {.min_size = 64, .max_size = 512, .multiple = 64},
    {.min_size = 8, .max_size = 16, .multiple = 8},
    {.min_size = 3, .max_size = 33, .multiple = 3},
    {.min_size = 0, .max_size = 1500},
    {.min_size = 1400, .max_size = 1460},
    {.min_size = 1100, .max_size = 3000, .multiple = 20},
    {.min_size = 0, .max_size = 65535},
    {.min_size = 130000, .max_size = 131200},
    {.min_size = 0, .max_size = 300000, .multiple = 8},
    {.min_size = 131072, .max_size = 262144, .multiple = 131072},
};

static struct verdict check_range(struct carry_jit_sum_spec spec, uint32_t vector_bits,
                                  uint32_t flags) {
    spec.vector_bits = vector_bits;
    spec.flags = flags;
    struct verdict verdict = check_spec(&spec);
    if (verdict.ok) {
        vary_spec(&spec);
        verdict = check_spec(&spec);
    }
    if (!verdict.ok)
        verdict_fail(&verdict, ", of %zu to %zu by %zu", spec.min_size, spec.max_size,
                     spec.multiple);
    return verdict;
}

static struct carry_jit_sum_spec random_range(void) {
    const size_t multiple = rng_below(2) ? (size_t)1 << rng_below(9) : 1 + rng_below(100);
    const size_t limit = rng_below(2) ? 200 : 4000;
    struct carry_jit_sum_spec spec = {.multiple = multiple};
    spec.min_size = rng_below(limit / multiple + 1) * multiple;
    spec.max_size = spec.min_size + rng_below(limit / multiple + 1) * multiple;
    return spec;
}

static void test_ranges(const struct way *way, uint32_t flags, const char *name) {
    struct verdict verdict = {.ok = true};
    rng_restart();
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && verdict.ok; i++)
        verdict = check_range(ranges[i], way->vector_bits, flags);
    verdict_report(&verdict, "%s: ranges of sizes", name);
    verdict.ok = true;
    for (size_t i = 0; i < effort->rounds / 100 && verdict.ok; i++)
        verdict = check_range(random_range(), way->vector_bits, flags);
    verdict_report(&verdict, "%s: random ranges of sizes", name);
}

static void test_way(const struct way *way) {
    const struct carry_jit_sum_spec none = {.vector_bits = way->vector_bits};
    const struct carry_jit *jit;
    char name[80];
    snprintf(name, sizeof name, "%u bits without \"%s\"", way->vector_bits, way->mask);
    if (carry_cpu_set_mask(way->mask)) {
        tap_skip(name, "this architecture has no such feature");
    } else if (carry_jit_sum(&none, &jit)) {
        tap_skip(name, "this CPU lacks them");
    } else {
        carry_jit_release(jit);
        test_sizes(way, 0, name);
        test_ranges(way, 0, name);
        strcat(name, ", copies");
        test_sizes(way, CARRY_JIT_COPY, name);
        test_ranges(way, CARRY_JIT_COPY, name);
    }
    carry_cpu_set_mask("");
}

/* --- Ranges by the chosen kernel, which may sum some of their sizes --- */

static void test_kernel(const struct carry_sum_kernel *kernel) {
    const struct way any = {"", 0};
    char name[80];
    snprintf(name, sizeof name, "with the kernel %s", kernel->name);
    if (kernel->missing) {
        tap_skip(name, "this CPU lacks it");
        return;
    }
    carry_sum_select(kernel->name);
    test_ranges(&any, 0, name);
    strcat(name, ", copies");
    test_ranges(&any, CARRY_JIT_COPY, name);
}

static void test_kernels(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        test_kernel(&kernel);
    carry_sum_select(NULL);
}

/* --- Specs --- */

struct mistake {
    const char *message;
    struct carry_jit_sum_spec spec;
};

static const struct mistake mistakes[] = {
    {"max_size: below min_size", {.min_size = 1}},
    {"max_size: above CARRY_JIT_SUM_SIZE_MAX", {.max_size = CARRY_JIT_SUM_SIZE_MAX + 1}},
    {"min_size: not a multiple", {.min_size = 5, .max_size = 8, .multiple = 4}},
    {"max_size: not a multiple", {.min_size = 4, .max_size = 9, .multiple = 4}},
    {"alignment: not a power of two", {.alignment = 3}},
    {"alignment: not a power of two", {.alignment = 8192}},
    {"flags: unknown flag", {.flags = 1 << 2}},
    {"result: unknown", {.result = CARRY_JIT_RESULT_COUNT}},
    {"seed: given without CARRY_JIT_SEED", {.seed = 1}},
    {"vector_bits: not 0, 64", {.vector_bits = 32}},
    {"vector_bits: not 0, 64", {.vector_bits = 96}},
    {"vector_bits: not 0, 64", {.vector_bits = 1024}},
    {"reserved: not 0", {.reserved = {[3] = 1}}},
};

static void test_mistake(const struct mistake *mistake) {
    const struct carry_jit before, *jit = &before;
    const char *message = carry_jit_sum_error(&mistake->spec);
    const bool named = message && !strncmp(message, mistake->message, strlen(mistake->message));
    const bool refused = carry_jit_sum(&mistake->spec, &jit) == CARRY_ERROR_INVALID;
    tap_ok(TAP_TRUE(named) && TAP_TRUE(refused) && TAP_EQ(jit, &before), "%s", mistake->message);
}

static void test_mistakes(void) {
    const struct carry_jit_sum_spec right = {.min_size = 24,
                                             .max_size = 48,
                                             .multiple = 12,
                                             .alignment = 4096,
                                             .vector_bits = 64,
                                             .flags = CARRY_JIT_COPY | CARRY_JIT_SEED,
                                             .seed = 1,
                                             .result = CARRY_JIT_FINISH};
    tap_ok(!carry_jit_sum_error(&right), "a right spec has no error");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        test_mistake(&mistakes[i]);
}

/* A spec that demands masked features is refused. */
static void test_lacking(void) {
    const struct carry_jit_sum_spec spec = {.max_size = 64, .vector_bits = 512};
    const struct carry_jit before, *jit = &before;
    carry_cpu_set_mask("all");
    tap_ok(TAP_EQ(carry_jit_sum(&spec, &jit), CARRY_ERROR_UNSUPPORTED) && TAP_EQ(jit, &before),
           "vectors that the CPU lacks are refused");
    carry_cpu_set_mask("");
}

/* Tests a function that sums no bytes: it returns the partial sum that it is given. */
static void test_nothing(void) {
    const struct carry_jit_sum_spec spec = {.result = CARRY_JIT_PARTIAL};
    const struct carry_jit *jit;
    if (!tap_ok(TAP_EQ(carry_jit_sum(&spec, &jit), CARRY_OK),
                "a spec of zeros makes a function for no bytes"))
        return;
    tap_ok(TAP_EQ(jit->sum(NULL, 0, 0x12345678), 0x12345678), "a function for no bytes reads none");
    carry_jit_release(jit);
}

int main(void) {
    const struct carry_jit_sum_spec any = {.max_size = 0};
    const struct carry_jit *jit;
    effort = effort_chosen();
    if (carry_jit_sum(&any, &jit) == CARRY_ERROR_UNSUPPORTED)
        return tap_skip_all("no generator for this architecture");
    carry_jit_release(jit);
    effort_note(effort);
    if (call_limits())
        tap_note("calling convention: %s", call_limits());
    test_mistakes();
    test_lacking();
    test_nothing();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        test_way(&ways[i]);
    test_kernels();
    return tap_done();
}
