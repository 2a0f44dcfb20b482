/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A shared object that calls functions of the program through slots: one of a variant procedure
 * call standard, and one of the base standard. Both preserve all registers.
 */
.macro BY_SLOT name, function
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    hint    #34
    b       \function
    .cfi_endproc
    .size \name, . - \name
.endm

    .text
BY_SLOT call_variant, whole_target
BY_SLOT call_base, whole_entry
    .variant_pcs whole_target

    .section .note.GNU-stack, "", %progbits
