/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * eax = 0
 *
 * uintptr_t carry_patch_nothing(void)
 *
 * The registered body of this function is empty: calls of an operation that is patched to this
 * function become NOPs. It is written in assembly because it is exported, and CARRY_BODY demands a
 * hidden function.
 */
    .text
    .globl carry_patch_nothing
    .type carry_patch_nothing, @function
    .balign 16
carry_patch_nothing:
.Lnothing:
    .cfi_startproc
    endbr64
    xorl    %eax, %eax
    ret
CARRY_END carry_patch_nothing

    .pushsection carry_bytes, "ao", @progbits, .Lnothing
.Lbody:
    .byte   0                                   /* size of the body */
    .popsection
    .pushsection carry_sites, "ao", @progbits, .Lnothing
    .balign 4
    .long   .Lnothing - ., .Lnothing - ., .Lbody - .
    .byte   5, 0, 0, 1                          /* CARRY_SITE_BODY, length, flags, version */
    .popsection

/*
 * void carry_patch_never(void)
 *
 * The target of the calls after sites: the compiler sees these calls, but no CPU runs them. It is
 * written in assembly because a compiler that optimises across files must not see that it changes
 * nothing.
 */
    .globl carry_patch_never
    .type carry_patch_never, @function
carry_patch_never:
    .cfi_startproc
    endbr64
    ud2
CARRY_END carry_patch_never

CARRY_NOTES
