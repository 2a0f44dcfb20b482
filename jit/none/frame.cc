/* SPDX-License-Identifier: MIT */
#include "../frame.h"

#include <elf.h>

namespace carry::jit {

const FrameRules frame_rules = {EM_NONE, 1, 1, 0, {}};

} // namespace carry::jit
