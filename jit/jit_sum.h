/* SPDX-License-Identifier: MIT */
/*
 * The plan of a sum, and the interface of each architecture's generator.
 */
#ifndef CARRY_JIT_SUM_H
#define CARRY_JIT_SUM_H

#include "code.h"

namespace carry::jit {

/* A valid spec, with its defaults filled in: the key of the cache, and everything that a generator
   reads. */
struct SumPlan {
    uint64_t min_size, max_size, multiple, alignment;
    uint32_t flags, result, seed, vector_bits;
    uint64_t features; /* of this CPU, as bits that the generator defines */
    uint64_t kernel;   /* the address of the compiled function that is called instead, or 0 */
};

/*
 * Sets the members from vector_bits on, by carry_cpu_has() and carry_sum_kernel(). Returns 0 or
 * CARRY_ERROR_UNSUPPORTED. Each architecture defines this function and emit_sum() in
 * jit/<arch>/sum.cc.
 */
int plan_sum(SumPlan &plan);
Emit emit_sum; /* its spec is a SumPlan */

} // namespace carry::jit

#endif
