/* SPDX-License-Identifier: MIT */
/* Mutants that overwrite a register after a switch. */
#include "base/asm.h"

.macro SPOIL_AFTER name, instruction:vararg
CARRY_FUNCTION broken_context_switch_\name
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    carry_context_switch
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    \instruction
    ret
CARRY_END broken_context_switch_\name
.endm

SPOIL_AFTER r15, notq %r15
SPOIL_AFTER uppers, vcmpps $15, %ymm5, %ymm5, %ymm5 /* sets all bits */

CARRY_NOTES
