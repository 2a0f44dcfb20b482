/* SPDX-License-Identifier: MIT */
/* Mutants that break the calling convention. */

.macro MUTANT name
    .text
    .globl broken_\name
    .hidden broken_\name
    .type broken_\name, %function
    .balign 16
broken_\name:
.endm

/* Computes the right sum in w0. */
.macro RIGHT_SUM
    stp x29, x30, [sp, #-16]!
    mov w2, w2
    bl broken_not
    ldp x29, x30, [sp], #16
.endm

.macro MUTANT_END name
    ret
    .size broken_\name, . - broken_\name
.endm

/* Defines a mutant that computes the right sum and then executes one more instruction. */
.macro SPOIL_AFTER name, instruction:vararg
    MUTANT \name
    RIGHT_SUM
    \instruction
    MUTANT_END \name
.endm

SPOIL_AFTER clobbers_x19, mvn x19, x19
SPOIL_AFTER clobbers_d8, movi d8, #0
SPOIL_AFTER moves_stack, add sp, sp, #16
SPOIL_AFTER writes_above, str xzr, [sp]

/* Leaves FPCR set to flush denormals to zero. */
MUTANT changes_fpcr
    RIGHT_SUM
    mov x9, #1 << 24
    msr fpcr, x9
MUTANT_END changes_fpcr

/* Adds all 64 bits of x2, although the argument is only w2. */
MUTANT uses_upper_half
    stp x29, x30, [sp, #-32]!
    str x2, [sp, #16]
    mov w2, wzr
    bl broken_not
    ldr x2, [sp, #16]
    ldp x29, x30, [sp], #32
    mov w0, w0
    adds x0, x0, x2
    lsr x1, x0, #32
    adds w0, w0, w1
    adc w0, w0, wzr
MUTANT_END uses_upper_half

    .section .note.GNU-stack, "", %progbits
