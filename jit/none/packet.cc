/* SPDX-License-Identifier: MIT */
#include "../packet.h"

namespace carry::jit {

asmjit::Error emit_packet(asmjit::CodeHolder &, const void *) {
    return asmjit::kErrorInvalidArch;
}

} // namespace carry::jit
