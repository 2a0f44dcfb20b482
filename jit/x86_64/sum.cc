/* SPDX-License-Identifier: MIT */
/*
 * Makes functions that do what carry_sum() and carry_sum_copy() do:
 *
 *     sum: rdi data, rsi size, edx seed;  copy: rdi target, rsi data, rdx size, ecx seed
 *
 * Clobbers: rax, rcx, rdx, rsi, rdi, r8 to r11, flags; with vectors, vectors 0 to 15 and k1; with
 *           the chosen kernel, whatever the calling convention allows
 */
#include "../jit_sum.h"

#include "emit_sum.h"

namespace carry::jit {

using namespace asmjit::x86;

namespace {

SumRegisters registers_of_sum(const SumPlan &plan) {
    SumRegisters at;
    if (plan.flags & CARRY_JIT_COPY) {
        at.copy = rdi;
        at.data = rsi;
        at.size = rdx;
    }
    return at;
}

void start_sum(SumEmitter &sum, const SumPlan &plan) {
    if (plan.flags & CARRY_JIT_SEED)
        sum.start(plan.seed);
    else
        sum.start(plan.flags & CARRY_JIT_COPY ? ecx : edx);
}

/* Computes carry_sum_fold() and the functions that use it: adds the sum rotated by 16 bits to the
   sum. The upper half of the result is the folded sum. */
void emit_result(Assembler &a, uint32_t result) {
    if (result == CARRY_JIT_PARTIAL)
        return;
    a.mov(ecx, eax);
    a.rol(ecx, 16);
    a.add(eax, ecx);
    if (result != CARRY_JIT_FOLD)
        a.not_(eax);
    if (result == CARRY_JIT_FINISH_NONZERO)
        a.mov(ecx, 0xffff);
    a.shr(eax, 16);
    if (result == CARRY_JIT_FINISH_NONZERO)
        a.cmovz(eax, ecx);
}

/* Returns the address of the chosen kernel, which sums ranges of sizes. Returns 0 if it is the
   portable kernel, the first of the table: compilers may make it expect an aligned stack. */
uint64_t find_kernel(bool copies) {
    struct carry_sum_kernel kernel;
    for (size_t i = 1; carry_sum_kernel(i, &kernel); i++)
        if (kernel.chosen)
            return copies ? reinterpret_cast<uintptr_t>(kernel.copy)
                          : reinterpret_cast<uintptr_t>(kernel.sum);
    return 0;
}

/* Calls the kernel with the arguments of the made function, and returns. */
void call_kernel(Assembler &a, const SumPlan &plan) {
    if (plan.flags & CARRY_JIT_SEED)
        a.mov(plan.flags & CARRY_JIT_COPY ? ecx : edx, plan.seed);
    if (plan.result == CARRY_JIT_PARTIAL) {
        a.jmp(plan.kernel);
        return;
    }
    a.call(plan.kernel);
    emit_result(a, plan.result);
    a.ret();
}

} // namespace

int plan_sum(SumPlan &plan) {
    const bool any_vectors = !plan.vector_bits;
    SumTarget target;
    if (!find_sum_target(plan.vector_bits, target))
        return CARRY_ERROR_UNSUPPORTED;
    plan.vector_bits = target.vector_bits;
    plan.features = target.features;
    if (any_vectors && plan.min_size < plan.max_size)
        plan.kernel = find_kernel(plan.flags & CARRY_JIT_COPY);
    return CARRY_OK;
}

asmjit::Error emit_sum(asmjit::CodeHolder &code, const void *spec) {
    const SumPlan &plan = *static_cast<const SumPlan *>(spec);
    Assembler a(&code);
    SumEmitter sum(a, {plan.vector_bits, plan.features}, registers_of_sum(plan));
    a.endbr64();
    if (plan.kernel) {
        call_kernel(a, plan);
        return asmjit::kErrorOk;
    }
    start_sum(sum, plan);
    if (plan.min_size == plan.max_size)
        sum.add(0, plan.min_size, plan.alignment);
    else
        sum.add(0, {plan.min_size, plan.max_size, plan.multiple}, plan.alignment);
    sum.fold();
    emit_result(a, plan.result);
    sum.leave();
    a.ret();
    sum.place_constants();
    return asmjit::kErrorOk;
}

} // namespace carry::jit
