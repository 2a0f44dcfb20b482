/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * SUM_HEADER: scalar code for 0, 8, 14, 20, 40, 44 and 64 bytes, a path for each size, including
 * its returns. Equation and registers: scalar.h.
 */
#include "sum/x86_64/scalar.h"

/* SUM64 and the carry flag += the number at offset(DATA), extended by the move; clobbers r10. */
.macro ADD_PART add, move, store, offset, part
    CARRY_LOAD CARRY_DONE(\offset), \move \offset(DATA), %r10d
#if COPIES
    CARRY_STORE CARRY_DONE(\offset), \store \part, \offset(%rdi)
#endif
    \add %r10, SUM64
.endm

.macro SUM_HEADER
    cmpl $20, SIZE32
    jbe .Lupto20
    cmpl $44, SIZE32
    jae .Lfrom44
    CHAIN_WORDS SUM64, 0, 40
    RETURN_FOLDED
.Lfrom44:
    ja .L64bytes
    CHAIN_WORDS SUM64, 0, 40
    ADD_PART adcq, movl, movl, 40, %r10d
    RETURN_FOLDED
.L64bytes:
    CHAIN_WORDS SUM64, 0, 64
    RETURN_FOLDED

.Lupto20:
    jb .Lunder20
    ADD_WORD addq, 0, SUM64
    ADD_WORD adcq, 8, SUM64
    ADD_PART adcq, movl, movl, 16, %r10d
    RETURN_FOLDED

.Lunder20:
    cmpl $8, SIZE32
    ja .L14bytes
    jb .Lnothing
    ADD_WORD addq, 0, SUM64
    RETURN_FOLDED
.L14bytes:
    ADD_WORD addq, 0, SUM64
    ADD_PART adcq, movl, movl, 8, %r10d
    ADD_PART adcq, movzwl, movw, 12, %r10w
    RETURN_FOLDED
.Lnothing:
    movl SUM, %eax
    RETURN_SUM
.endm
