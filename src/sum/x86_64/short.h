/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Scalar code for short sums, where vectors answer later. A conditional branch that goes both ways
 * costs about as much as four additions even where it is predicted: so there are few of them, and
 * where sizes vary, what they differ in is masked out.
 *
 * SUM_HEADER   0, 8, 14, 20, 40, 44 and 64 bytes
 * SUM_128      65 to 128 bytes
 *
 * Both end with their returns. Equation and registers: scalar.h.
 */
#include "sum/x86_64/scalar.h"

    .section .rodata
    .balign 64
.Lmasks:
    .fill 32, 1, 0
    .fill 32, 1, 0xff

/*
 * word = the 64-bit word `back` bytes before the end, its bytes that lie before `from` taken for
 * zeros. rcx is .Lmasks. Copied whole.
 */
.macro LOAD_END from, back, word
#if COPIES
    CARRY_LOAD movq -\back(%rsi, SIZE), \word
    CARRY_STORE movq \word, -\back(%rdi, SIZE)
    andq 32-\from-\back(%rcx, SIZE), \word
#else
    movq 32-\from-\back(%rcx, SIZE), \word
    andq -\back(%rdi, SIZE), \word
#endif
.endm

/*
 * rax = the words behind the first `from` bytes, an even number, up to 32 bytes. They are counted
 * from the end: if the bytes are odd in number, words have theirs swapped. So they are turned by 8
 * bits for each byte; turns by whole words do no harm.
 */
.macro SUM_END from
    LOAD_END \from, 32, %rax
    LOAD_END \from, 24, %r8
    LOAD_END \from, 16, %r9
    LOAD_END \from, 8, %r10
    addq %r8, %rax
    adcq %r9, %rax
    adcq %r10, %rax
    adcq $0, %rax
    movl SIZE32, %ecx
    shll $3, %ecx
    rolq %cl, %rax
.endm

/* chain += \add the value at offset(DATA), by a move that extends it; spoils r10. */
.macro ADD_PART add, move, store, offset, part
    CARRY_LOAD \move \offset(DATA), %r10d
#if COPIES
    CARRY_STORE \store \part, \offset(%rdi)
#endif
    \add %r10, SUM64
.endm

/*
 * eax = SUM64 and the carry flag, folded. What leaves a carry, be it one addition or one without
 * and others with a carry in, does not leave ones alone: so nothing here carries twice.
 */
.macro RETURN_FOLDED
    rorxq $32, SUM64, %rax
    adcl SUM, %eax
    adcl $0, %eax
    RETURN_SUM
.endm

/* All of them; only copies begin at the start, as their stores must. */
.macro SUM_BOTH from
    leaq .Lmasks(%rip), %rcx
#if COPIES
    ADD_WORDS SUM64, 0, \from
    SUM_END \from
    addq %rax, SUM64
#else
    SUM_END \from
    CHAIN_WORDS SUM64, 0, \from
    adcq %rax, SUM64
#endif
    RETURN_FOLDED
.endm

.macro SUM_HEADER
    movl SUM, SUM
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

.macro SUM_128
    movl SUM, SUM
    cmpl $96, SIZE32
    ja .Labove96
    SUM_BOTH 64
.Labove96:
    SUM_BOTH 96
.endm
