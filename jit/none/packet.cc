/* SPDX-License-Identifier: MIT */
#include "../jit_packet.h"

namespace carry::jit {

int plan_packet(PacketPlan &) {
    return CARRY_ERROR_UNSUPPORTED;
}

asmjit::Error emit_packet(asmjit::CodeHolder &, const void *) {
    return asmjit::kErrorInvalidArch;
}

} // namespace carry::jit
