/* SPDX-License-Identifier: MIT */
#include "emit_packet.h"

#include <carry/cpu.h>

namespace carry::jit {

int plan_packet(PacketPlan &plan) {
    plan.vector_bits = carry_cpu_has("neon") ? 128 : 64;
    plan.features = 0;
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
