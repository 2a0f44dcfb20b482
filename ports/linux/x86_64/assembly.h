/* SPDX-License-Identifier: MIT */
/*
 * Included before each assembly file of the core: makes RET of Linux end functions, with return
 * thunks where the CPU needs them.
 */
/* clang-format off */
#include <asm/linkage.h>

#define ret RET

    /* Linux unwinds with objtool's tables; the CFI is for debuggers. */
    .cfi_sections .debug_frame
