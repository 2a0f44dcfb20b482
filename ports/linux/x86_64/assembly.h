/* SPDX-License-Identifier: MIT */
/* Ends functions with Linux's RET, which uses return thunks where the CPU needs them. Included
 * before each assembly file of the core. */
/* clang-format off */
#include <asm/linkage.h>

#define ret RET

    /* Linux unwinds with objtool's tables; the CFI is for debuggers. */
    .cfi_sections .debug_frame
