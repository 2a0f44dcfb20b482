/* SPDX-License-Identifier: MIT */
#include "emit_packet.h"

namespace carry::jit {

namespace {

/* Keeps the first error: emitters go on after it. */
class FirstError : public asmjit::ErrorHandler {
  public:
    void handleError(asmjit::Error error, const char *, asmjit::BaseEmitter *) override {
        if (!first)
            first = error;
    }
    asmjit::Error first = asmjit::kErrorOk;
};

} // namespace

int plan_packet(PacketPlan &plan) {
    SumTarget target;
    find_sum_target(0, target);
    plan.vector_bits = target.vector_bits;
    plan.features = target.features;
    return CARRY_OK;
}

asmjit::Error emit_packet(asmjit::CodeHolder &code, const void *spec) {
    const PacketPlan &plan = *static_cast<const PacketPlan *>(spec);
    FirstError error;
    code.setErrorHandler(&error);
    if (plan.flags & CARRY_JIT_FILL)
        FillEmitter(code, plan).emit();
    else
        CheckEmitter(code, plan).emit();
    code.setErrorHandler(nullptr);
    return error.first;
}

} // namespace carry::jit
