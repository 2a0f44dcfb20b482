/* SPDX-License-Identifier: MIT */
#include "../sum.h"

#include <asmjit/x86.h>

namespace carry::jit {
namespace {

using namespace asmjit::x86;

/* The folds of <carry/sum.h>, of the 64 bits in rax. */
void emit_fold64(Assembler &a) {
    a.mov(edx, eax);
    a.shr(rax, 32);
    a.add(eax, edx);
    a.adc(eax, 0);
}

} // namespace

int plan_sum(SumPlan &plan) {
    if (plan.vector_bits > 64 || plan.min_size != plan.max_size || plan.flags || plan.result)
        return CARRY_ERROR_UNSUPPORTED;
    plan.vector_bits = 64;
    return CARRY_OK;
}

asmjit::Error emit_sum(asmjit::CodeHolder &code, const void *spec) {
    const SumPlan &plan = *static_cast<const SumPlan *>(spec);
    Assembler a(&code);
    a.endbr64();
    a.mov(eax, edx);
    for (uint64_t i = 0; i + 8 <= plan.min_size; i += 8) {
        a.add(rax, qword_ptr(rdi, static_cast<int32_t>(i)));
        a.adc(rax, 0);
    }
    emit_fold64(a);
    return a.ret();
}

} // namespace carry::jit
