/* SPDX-License-Identifier: MIT */
#include "../jit_sum.h"

namespace carry::jit {

int plan_sum(SumPlan &) {
    return CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_sum(asmjit::CodeHolder &, const void *) {
    return asmjit::kErrorInvalidArch;
}

} // namespace carry::jit
