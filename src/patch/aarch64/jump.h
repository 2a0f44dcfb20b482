/* SPDX-License-Identifier: MIT */
/* A function in assembly that jumps to an operation. Patching makes the jump direct. */
/* clang-format off */
#ifndef CARRY_PATCH_AARCH64_JUMP_H
#define CARRY_PATCH_AARCH64_JUMP_H

/* Defines the function, with a stub after its site. An unpatched site branches to the stub. */
.macro CARRY_PATCHED_JUMP name, key
    .text
    .globl \name
    .type \name, %function
    .balign 16
\name:
    .cfi_startproc
    hint    #34                                 /* bti c */
.Lsite_\name:
    b       .Lstub_\name
.Lstub_\name:
    adrp    x16, \key
    add     x16, x16, :lo12:\key
    ldar    x16, [x16]
    br      x16
    .cfi_endproc
    .size \name, . - \name

    .pushsection carry_sites, "ao", %progbits, .Lsite_\name
    .balign 4
    .long   .Lsite_\name - ., \key - ., .Lstub_\name - .
    .byte   2, 4, 0, 1                          /* CARRY_SITE_JUMP, length, flags, version */
    .popsection
.endm

#endif
