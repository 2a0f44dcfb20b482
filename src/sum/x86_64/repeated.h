/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * SUM_REPEATED: scalar code for sizes whose branches are predicted, since they repeat: 8, 14, and
 * multiples of 4 from 16 on. It ends with its return. Equation and registers: scalar.h.
 *
 * The result of a short sum is waited for. So nothing but the words themselves is between the first
 * load and the fold: what is left is found by branches, which no result waits for, rather than by
 * shifts of a last word. Taken branches cost most where calls overlap; 20 bytes have none.
 */
#include "sum/x86_64/scalar.h"

/*
 * eax = rax and the carry flag, folded. Behind an addition without carry in: else all could be ones
 * and a carry, whose sum is one bit too long.
 */
.macro RETURN_FOLDED
    rorxq $32, %rax, %r9
    adcl %r9d, %eax
    adcl $0, %eax
    RETURN_SUM
.endm

.macro SUM_REPEATED
    movl SUM, %eax
    cmpl $14, SIZE32
    jb .Lonly8bytes
    je .L14bytes
    cmpl $32, SIZE32
    jae .Lfrom32

.L16bytes:
    ADD_WORDS %rax, 0, 16
    ADVANCE 16
    testb $8, SIZE8
    jnz .L8bytes
.Llast:
    testb $4, SIZE8
    jz .Lfold
.L4bytes:
#if COPIES
    CARRY_LOAD movl (%rsi), %r10d
    CARRY_STORE movl %r10d, (%rdi)
#else
    movl (%rdi), %r10d
#endif
    addq %r10, %rax
    RETURN_FOLDED

.Lfrom32:
    cmpq $64, SIZE
    jae .Lfrom64
.L32bytes:
    ADD_WORDS %rax, 0, 32
    ADVANCE 32
.Lunder32:
    testb $16, SIZE8
    jnz .L16bytes
    testb $8, SIZE8
    jz .Llast
.L8bytes:
    ADD_WORDS %rax, 0, 8
    ADVANCE 8
    testb $4, SIZE8
    jnz .L4bytes
.Lfold:
    RETURN_FOLDED                       /* no carry: a test leaves none */

.Lonly8bytes:
    ADD_WORD addq, 0, %rax
    RETURN_FOLDED

    /* 14 bytes: the last 6 are the upper ones of the last word. */
.L14bytes:
    ADD_WORDS %rax, 0, 8
    CARRY_LOAD movq 6(DATA), %r10
#if COPIES
    CARRY_STORE movq %r10, 6(%rdi)
#endif
    shrq $16, %r10
    addq %r10, %rax
    RETURN_FOLDED

.Lfrom64:
    cmpq $128, SIZE
    jae .Lblocks
.L64bytes:
    ADD_WORDS %rax, 0, 64
    ADVANCE 64
.Lunder64:
    testb $32, SIZE8
    jnz .L32bytes
    testb $28, SIZE8
    jnz .Lunder32
    RETURN_FOLDED

.Lblocks:
    ADD_BLOCKS
    testb $64, SIZE8
    jnz .L64bytes
    jmp .Lunder64
.endm
