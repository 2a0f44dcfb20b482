/* SPDX-License-Identifier: MIT */
/* Tests functions made at run time: sums, and functions for packets. */
#include "harness/check_jit_packet.h"
#include "harness/check_jit_sum.h"
#include "harness/rng.h"
#include "selftest/selftest.h"

#define SUMS          48
#define SUM_SIZE_MAX  1600
#define PACKET_STACKS 3

static void judge_sum(struct selftest_row *row, const struct carry_jit_sum_spec *spec) {
    const struct carry_jit *jit;
    struct verdict verdict = {.ok = true};
    const int error = carry_jit_sum(spec, &jit);
    if (error) {
        verdict_fail(&verdict, "%s", carry_error_name(error));
    } else {
        verdict = check_jit_sum(spec, jit, &selftest_effort);
        carry_jit_release(jit);
    }
    selftest_judge(row, spec->min_size == spec->max_size ? "one size" : "a range", &verdict);
}

static void run_sum(struct selftest_row *row) {
    rng_restart();
    for (size_t i = 0; i < SUMS && row->verdict.ok; i++) {
        const size_t size = rng_below(SUM_SIZE_MAX);
        judge_sum(row, &(struct carry_jit_sum_spec){.min_size = size,
                                                    .max_size = size + (i & 1) * rng_below(64),
                                                    .flags = i & 2 ? CARRY_JIT_COPY : 0});
    }
}

static void judge_packet(struct selftest_row *row, const struct stack *stack, uint32_t flags) {
    struct carry_jit_packet_spec spec = stack->spec;
    const struct carry_jit *jit;
    struct verdict verdict = {.ok = true};
    spec.flags = flags;
    const int error = carry_jit_packet(&spec, &jit);
    if (error) {
        verdict_fail(&verdict, "%s", carry_error_name(error));
    } else {
        verdict = check_jit_packet(&spec, jit->packet, &selftest_effort);
        carry_jit_release(jit);
    }
    selftest_judge(row, stack->name, &verdict);
}

static void run_packet(struct selftest_row *row) {
    rng_restart();
    const size_t first = rng_below(stacks_count);
    for (size_t i = 0; i < PACKET_STACKS; i++)
        judge_packet(row, &stacks[(first + i) % stacks_count], i & 1 ? CARRY_JIT_FILL : 0);
}

void selftest_add_jit(struct selftest *test) {
    selftest_add(test, "jit", "sum", run_sum);
    selftest_add(test, "jit", "packet", run_packet);
}
