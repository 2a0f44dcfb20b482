/* SPDX-License-Identifier: MIT */
/* Macros of every x86-64 assembly file: function entry and end, CET landing pad, CFI, notes. */
/* clang-format off */
#ifndef CARRY_BASE_ASM_H
#define CARRY_BASE_ASM_H

/*
 * Opens a function that C calls. Kernels push nothing, so no CFI is needed inside. With `align` 1,
 * the function follows the code before it without padding.
 */
.macro CARRY_FUNCTION name, align=64
    .text
    .globl \name
    .hidden \name
    .type \name, @function
    .balign \align
\name:
    .cfi_startproc
    endbr64
.endm

.macro CARRY_END name
    .cfi_endproc
    .size \name, . - \name
.endm

/* Declares that this object needs no executable stack and supports CET (IBT and shadow stack). */
.macro CARRY_NOTES
    .section .note.GNU-stack, "", @progbits
    .section .note.gnu.property, "a"
    .balign 8
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, 3, 0
.endm

#endif
