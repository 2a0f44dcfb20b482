/* SPDX-License-Identifier: MIT */
/* Before each assembly file of the core: how Linux has functions end, where CPUs need thunks. */
/* clang-format off */
#include <asm/linkage.h>

#define ret RET

    /* Linux unwinds by tables that objtool makes; the CFI is for debuggers. */
    .cfi_sections .debug_frame
