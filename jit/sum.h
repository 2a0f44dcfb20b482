/* SPDX-License-Identifier: MIT */
/*
 * What the generators of sums share: a spec in plain words, and one generator per architecture.
 */
#ifndef CARRY_JIT_SUM_H
#define CARRY_JIT_SUM_H

#include "code.h"

namespace carry::jit {

/* A valid spec with its defaults filled in: the key of the cache, and all that a generator reads.
 */
struct SumPlan {
    uint64_t min_size, max_size, multiple, alignment;
    uint32_t flags, result, seed, vector_bits;
    uint64_t features; /* bits of the generator's own, of what this CPU has of use for it */
};

/*
 * Each architecture's, in jit/<arch>/sum.cc. plan_sum() fills in vector_bits and features by this
 * CPU and its mask (carry_cpu_has()): 0, or CARRY_ERROR_UNSUPPORTED.
 */
int plan_sum(SumPlan &plan);
Emit emit_sum; /* its spec is a SumPlan */

} // namespace carry::jit

#endif
