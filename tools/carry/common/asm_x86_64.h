/* SPDX-License-Identifier: MIT */
/* Defines macros for the tool's assembly files. The tool includes no private headers of the
   library. */
/* clang-format off */
#ifndef CARRY_TOOLS_ASM_X86_64_H
#define CARRY_TOOLS_ASM_X86_64_H

.macro FUNCTION name
    .text
    .globl \name
    .type \name, @function
    .balign 64
\name:
    .cfi_startproc
    endbr64
.endm

.macro END name
    .cfi_endproc
    .size \name, . - \name
.endm

/* Marks the object as needing no executable stack, and as supporting CET (IBT and shadow stack). */
.macro NOTES
    .section .note.GNU-stack, "", @progbits
    .section .note.gnu.property, "a"
    .balign 8
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 3, 0
.endm

#endif
