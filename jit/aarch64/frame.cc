/* SPDX-License-Identifier: MIT */
#include "../frame.h"

#include <elf.h>

namespace carry::jit {

/* DW_CFA_def_cfa sp + 0; the return address remains in x30. */
const FrameRules frame_rules = {EM_AARCH64, 4, 0x78, 30, {0x0c, 31, 0}};

} // namespace carry::jit
