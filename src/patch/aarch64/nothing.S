/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"

/*
 * x0 = 0
 *
 * uintptr_t carry_patch_nothing(void)
 *
 * The registered body of this function is empty: calls of an operation that is patched to this
 * function become NOPs. It is written in assembly because it is exported, and CARRY_BODY demands a
 * hidden function.
 */
    .text
    .globl carry_patch_nothing
    .type carry_patch_nothing, %function
    .balign 16
carry_patch_nothing:
.Lnothing:
    .cfi_startproc
    hint    #34                                 /* bti c */
    mov     x0, #0
    ret
    .cfi_endproc
    .size carry_patch_nothing, . - carry_patch_nothing

    .pushsection carry_bytes, "ao", %progbits, .Lnothing
    .balign 4
.Lbody:
    .byte   0                                   /* size of the body */
    .popsection
    .pushsection carry_sites, "ao", %progbits, .Lnothing
    .balign 4
    .long   .Lnothing - ., .Lnothing - ., .Lbody - .
    .byte   5, 0, 0, 1                          /* CARRY_SITE_BODY, length, flags, version */
    .popsection

/*
 * void carry_patch_never(void)
 *
 * The target of the calls after sites: the compiler sees these calls, but no CPU runs them.
 */
    .globl carry_patch_never
    .type carry_patch_never, %function
carry_patch_never:
    .cfi_startproc
    hint    #34
    brk     #1
    .cfi_endproc
    .size carry_patch_never, . - carry_patch_never

CARRY_NOTES
