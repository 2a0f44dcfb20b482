/* SPDX-License-Identifier: MIT */
#include "emit_packet.h"

namespace carry::jit {

int plan_packet(PacketPlan &plan) {
    SumTarget target;
    find_sum_target(0, target);
    plan.vector_bits = target.vector_bits;
    plan.features = target.features;
    return CARRY_OK;
}

asmjit::Error emit_packet(asmjit::CodeHolder &code, const void *spec) {
    const PacketPlan &plan = *static_cast<const PacketPlan *>(spec);
    if (plan.flags & CARRY_JIT_FILL)
        FillEmitter(code, plan).emit();
    else
        CheckEmitter(code, plan).emit();
    return asmjit::kErrorOk; /* the code's handler knows of others */
}

} // namespace carry::jit
