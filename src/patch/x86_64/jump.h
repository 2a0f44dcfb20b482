/* SPDX-License-Identifier: MIT */
/*
 * A function in assembly that jumps to an operation. Patching makes the jump direct, or a NOP if it
 * leads to the code that follows.
 */
/* clang-format off */
#ifndef CARRY_PATCH_X86_64_JUMP_H
#define CARRY_PATCH_X86_64_JUMP_H

#include "base/asm.h"

.macro CARRY_PATCHED_JUMP name, key, align=16
    .text
    .globl \name
    .type \name, @function
    .balign \align
\name:
    .cfi_startproc
    endbr64
.Lsite_\name:
    jmp     *\key(%rip)
CARRY_END \name

    .pushsection carry_sites, "ao", @progbits, .Lsite_\name
    .balign 4
    .long   .Lsite_\name - ., \key - ., 0
    .byte   2, 6, 0, 1                          /* CARRY_SITE_JUMP, length, flags, version */
    .popsection
.endm

#endif
