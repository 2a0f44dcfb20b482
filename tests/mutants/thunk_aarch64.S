/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Mutants of thunks: see thunk_aarch64.h.
 *
 * In: x16 = const struct carry_thunk *, and all other registers as at the start of a function. Each
 * mutant violates one requirement of thunks, except `not` and `whole_not`, which violate none.
 */
    .arch_extension sve

.macro MUTANT name, thunk, change:vararg
    .text
    .globl broken_thunk_\name
    .type broken_thunk_\name, %function
    .balign 16
broken_thunk_\name:
    .cfi_startproc
    hint    #34
    \change
    b       \thunk
    .cfi_endproc
    .size broken_thunk_\name, . - broken_thunk_\name
.endm

MUTANT not, carry_thunk_enter, nop
MUTANT forgets_x5, carry_thunk_enter, mov x5, #0
MUTANT forgets_x8, carry_thunk_enter, mov x8, #0
MUTANT forgets_x18, carry_thunk_enter, mov x18, #0
MUTANT forgets_q7, carry_thunk_enter, mov v7.8b, v7.8b
MUTANT changes_x21, carry_thunk_enter, mov x21, #0
MUTANT changes_d9, carry_thunk_enter, movi v9.2d, #0
MUTANT forgets_leave, carry_thunk_enter, nop

MUTANT whole_not, carry_thunk_enter_whole, nop
MUTANT whole_forgets_x9, carry_thunk_enter_whole, mov x9, #0
MUTANT whole_forgets_q23, carry_thunk_enter_whole, movi v23.2d, #0
MUTANT whole_forgets_z8, carry_thunk_enter_whole, mov v8.16b, v8.16b
MUTANT whole_forgets_p0, carry_thunk_enter_whole, pfalse p0.b
MUTANT whole_forgets_p4, carry_thunk_enter_whole, pfalse p4.b

/* Mutants that leave streaming mode, or that set TPIDR2_EL0 although nothing saves ZA. */
MUTANT stops_streaming, carry_thunk_enter, msr S0_3_C4_C2_3, xzr
MUTANT promises_za, carry_thunk_enter, msr S3_3_C13_C0_5, x16

/* Calls the thunk with two words more on the stack, with or without CFI. */
.macro MOVED name, cfi
    .globl broken_thunk_\name
    .type broken_thunk_\name, %function
    .balign 16
broken_thunk_\name:
    .cfi_startproc
    hint    #34
    stp     x29, x30, [sp, #-16]!
    .if \cfi
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    .endif
    bl      carry_thunk_enter
    ldp     x29, x30, [sp], #16
    ret
    .cfi_endproc
    .size broken_thunk_\name, . - broken_thunk_\name
.endm

MOVED moves_stack, 1
MOVED wrong_cfi, 0

    .section .note.GNU-stack, "", %progbits
