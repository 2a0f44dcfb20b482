/* SPDX-License-Identifier: MIT */
#include "../frame.h"

#include <elf.h>

namespace carry::jit {

/* DW_CFA_def_cfa rsp + 8; DW_CFA_offset: the return address at CFA - 8, in units of -8. */
const FrameRules frame_rules = {EM_X86_64, 1, 0x78, 16, {0x0c, 7, 8, 0x80 | 16, 1}};

} // namespace carry::jit
