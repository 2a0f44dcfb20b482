/* SPDX-License-Identifier: MIT */
/* Mutants that break the calling convention. */
#include "base/asm.h"
#include "harness/stack.h"

/* Computes the right sum in eax. Expects rsp as at the start of a function: 16 * n + 8. */
.macro RIGHT_SUM
    subq $8, %rsp
    movl %edx, %edx
    call broken_not
    addq $8, %rsp
.endm

/* Defines a mutant that computes the right sum and then executes one more instruction. */
.macro SPOIL_AFTER name, instruction:vararg
CARRY_FUNCTION broken_\name
    RIGHT_SUM
    \instruction
    ret
CARRY_END broken_\name
.endm

SPOIL_AFTER clobbers_rbx, xorl %ebx, %ebx
SPOIL_AFTER clobbers_rbp, xorl %ebp, %ebp
SPOIL_AFTER clobbers_r12, movl %r12d, %r12d    /* clears only the upper half */
SPOIL_AFTER clobbers_r15, notq %r15
SPOIL_AFTER sets_direction, std
SPOIL_AFTER writes_above, movq $0, 8(%rsp)
SPOIL_AFTER writes_below, movq $0, -(CALL_STACK_BYTES + 104)(%rsp)
SPOIL_AFTER forgets_emms, movd %eax, %mm0
SPOIL_AFTER dirty_ymm, vpcmpeqd %ymm5, %ymm5, %ymm5

/* Removes 8 bytes too many from the stack on return, like stdcall. */
CARRY_FUNCTION broken_moves_stack
    RIGHT_SUM
    ret $8
CARRY_END broken_moves_stack

/* Leaves MXCSR set to round towards zero. */
CARRY_FUNCTION broken_changes_mxcsr
    RIGHT_SUM
    stmxcsr -4(%rsp)
    orl $0x6000, -4(%rsp)
    ldmxcsr -4(%rsp)
    ret
CARRY_END broken_changes_mxcsr

/* Leaves x87 in single precision. */
CARRY_FUNCTION broken_changes_x87
    RIGHT_SUM
    fnstcw -2(%rsp)
    andw $0xfcff, -2(%rsp)
    fldcw -2(%rsp)
    ret
CARRY_END broken_changes_x87

/* Adds all 64 bits of rdx, although the argument is only edx. */
CARRY_FUNCTION broken_uses_upper_half
    pushq %rdx
    xorl %edx, %edx
    call broken_not
    popq %rdx
    addq %rdx, %rax
    movq %rax, %rcx
    shrq $32, %rcx
    addl %ecx, %eax
    adcl $0, %eax
    ret
CARRY_END broken_uses_upper_half

/* Adds with carry without clearing the carry first. */
CARRY_FUNCTION broken_trusts_carry_flag
    adcl $0, %edx
    adcl $0, %edx
    jmp broken_not
CARRY_END broken_trusts_carry_flag

/* Adds to an accumulator that was not zeroed. */
CARRY_FUNCTION broken_trusts_rax
    addl %eax, %edx
    adcl $0, %edx
    jmp broken_not
CARRY_END broken_trusts_rax

/* Makes only the upper half of zmm5 dirty. */
CARRY_FUNCTION broken_dirty_zmm
    RIGHT_SUM
    movl $0xff00, %ecx
    kmovd %ecx, %k1
    vpternlogd $255, %zmm5, %zmm5, %zmm5{%k1}{z}
    ret
CARRY_END broken_dirty_zmm

CARRY_NOTES
