/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * Mutants of thunks: see thunk.h.
 *
 * In: r11 = const struct carry_thunk *, and all other registers as at the start of a function.
 * Mutants of carry_thunk_any run at any point, with the old r11 at (rsp). Each mutant violates one
 * requirement of thunks, except `not`, which violates none.
 */
CARRY_FUNCTION broken_thunk_not
    jmp     carry_thunk_enter
CARRY_END broken_thunk_not

CARRY_FUNCTION broken_thunk_forgets_uppers
    vzeroupper
    jmp     carry_thunk_enter
CARRY_END broken_thunk_forgets_uppers

CARRY_FUNCTION broken_thunk_forgets_xmm7
    pxor    %xmm7, %xmm7
    jmp     carry_thunk_enter
CARRY_END broken_thunk_forgets_xmm7

CARRY_FUNCTION broken_thunk_forgets_chain
    xorl    %r10d, %r10d
    jmp     carry_thunk_enter
CARRY_END broken_thunk_forgets_chain

    .local mutant
    .comm mutant, 40, 8                           /* struct carry_thunk */

CARRY_FUNCTION dirty_enter
    vcmpps  $15, %ymm9, %ymm9, %ymm9            /* sets all bits */
    leaq    check_thunk_descriptor(%rip), %rdi
    jmp     *(%rdi)
CARRY_END dirty_enter

/* Passes another struct carry_thunk, whose `enter` is dirty_enter(). */
CARRY_FUNCTION broken_thunk_stays_dirty
    pushq   %rax
    leaq    dirty_enter(%rip), %rax
    movq    %rax, mutant(%rip)
    movq    16(%r11), %rax
    movq    %rax, mutant + 16(%rip)
    popq    %rax
    leaq    mutant(%rip), %r11
    jmp     carry_thunk_enter
CARRY_END broken_thunk_stays_dirty

CARRY_FUNCTION broken_thunk_moves_stack
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    carry_thunk_enter
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
CARRY_END broken_thunk_moves_stack

/* Pushes and pops a word without CFI. */
CARRY_FUNCTION broken_thunk_wrong_cfi
    pushq   %rax
    popq    %rax
    jmp     carry_thunk_enter
CARRY_END broken_thunk_wrong_cfi

CARRY_FUNCTION broken_thunk_forgets_leave
    jmp     carry_thunk_enter
CARRY_END broken_thunk_forgets_leave

.macro ANY name, change:vararg
CARRY_FUNCTION broken_thunk_any_\name
    \change
    jmp     carry_thunk_any
CARRY_END broken_thunk_any_\name
.endm

ANY flags, cmc
ANY rdi, incq %rdi
/*
 * These mutants change a value, because a thunk may put a component in use without changing its
 * value.
 */
ANY x87, fld1
ANY xmm15, pcmpeqd %xmm15, %xmm15
ANY k1, kxnorw %k1, %k1, %k1
ANY red_zone, movq %rax, 24(%rsp)

CARRY_NOTES
