/* SPDX-License-Identifier: MIT */
/* Writes code that sums runs of bytes. */
#ifndef CARRY_JIT_AARCH64_EMIT_SUM_H
#define CARRY_JIT_AARCH64_EMIT_SUM_H

#include <asmjit/arm/a64assembler.h>

#include "../jit_sum.h"

namespace carry::jit {

constexpr uint32_t LANDING_PAD = 34; /* HINT #34: BTI c */

/*
 * The registers that the code uses, and clobbers. `size` is used only if the size varies or is
 * large.
 */
struct SumRegisters {
    asmjit::arm::GpX data, size;
    asmjit::arm::GpX copy; /* the destination, if the code copies */
};

/* Writes the code, which clobbers x4 to x8, flags, and v0 to v5. */
class SumEmitter {
  public:
    SumEmitter(asmjit::a64::Assembler &assembler, const SumPlan &sum_plan, const SumRegisters &at);

    /* Writes the whole function. */
    void emit();

    /* Writes code that sets the 32 bits of `total` to the sum of a run of the plan's sizes. */
    void add_run(const asmjit::arm::Gp &total);

  private:
    using Gp = asmjit::arm::Gp;
    using GpX = asmjit::arm::GpX;
    using Vec = asmjit::arm::Vec;

    static constexpr uint32_t LANES = 4; /* vector accumulators, v0 to v3 */

    void start();
    void add_exact(uint64_t size);
    void add_sizes();
    void fold(const Gp &total);
    void finish();

    void settle();
    void add_term(const Gp &term);
    void load_pair(int32_t offset);
    void add_words(int32_t offset, uint64_t bytes);
    void add_piece(int32_t offset, uint32_t bytes);
    void add_rest(int32_t offset, uint32_t bytes);
    void advance(uint64_t bytes);

    void add_scalar_loop();
    bool may_have(uint64_t bit) const;
    bool always_has(uint64_t bit) const;
    void add_bits();
    void add_blocks();

    void zero_lanes();
    void add_vector_pair(int32_t offset, uint32_t lane);
    void add_vector(int32_t offset);
    void add_lanes();
    void add_vectors(uint64_t bytes);
    void add_vector_loop();
    void add_vector_parts();

    asmjit::a64::Assembler &a;
    const SumPlan &plan;
    const bool copies;
    const GpX data, size, copy;
    const GpX acc = asmjit::a64::x4;
    const GpX count = asmjit::a64::x5, part = asmjit::a64::x6;
    const GpX first = asmjit::a64::x7, second = asmjit::a64::x8;
    const Vec lanes[LANES] = {asmjit::a64::v0, asmjit::a64::v1, asmjit::a64::v2, asmjit::a64::v3};
    bool carries = false; /* the carry flag must still be added */
};

} // namespace carry::jit

#endif
