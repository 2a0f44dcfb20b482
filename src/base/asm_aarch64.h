/* SPDX-License-Identifier: MIT */
/* Macros of every AArch64 assembly file: function entry and end, BTI landing pad, CFI, notes. */
/* clang-format off */
#ifndef CARRY_BASE_ASM_AARCH64_H
#define CARRY_BASE_ASM_AARCH64_H

/* Opens a function that C calls. */
.macro CARRY_EXPORTED_FUNCTION name
    .text
    .globl \name
    .type \name, %function
    .balign 64
\name:
    .cfi_startproc
    hint    #34                                 /* bti c */
.endm

/* Opens a function that only this library calls. */
.macro CARRY_FUNCTION name
    .hidden \name
    CARRY_EXPORTED_FUNCTION \name
.endm

.macro CARRY_END name
    .cfi_endproc
    .size \name, . - \name
.endm

/* Declares that this object needs no executable stack, and has a landing pad (BTI) wherever it is
 * called. Linkers enable BTI in a program only if all its objects declare this. */
.macro CARRY_NOTES
    .section .note.GNU-stack, "", %progbits
    .section .note.gnu.property, "a", %note
    .balign 8
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000000, 4, 1, 0
.endm

#endif
