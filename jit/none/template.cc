/* SPDX-License-Identifier: MIT */
#include "../template.h"

namespace carry::jit {

int accept_template(const TemplatePlan &) {
    return CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_template(asmjit::CodeHolder &, const void *) {
    return asmjit::kErrorInvalidArch;
}

} // namespace carry::jit
