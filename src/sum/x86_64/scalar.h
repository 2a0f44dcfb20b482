/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * SUM_SCALAR: the whole scalar kernel, up to and including its return. It stands alone in adc.S,
 * and inside each vector kernel without masked loads, which would lose more by a jump to it than
 * it wins by the vectors. Those with masked loads have short.h.
 *
 * sum + the little-endian 64-bit words of data, with end-around carry, folded to 32 bits. 2^16 is
 * 1 modulo 0xffff, so words of any multiple of 16 bits add up to the same checksum.
 *
 * In:       DATA, SIZE, SUM: see form.h
 * Out:      eax; or rax and edx
 * Clobbers: rcx, rdx, rsi, rdi, r8 to r11, flags
 * Reads:    [data, data + size) and nothing else
 * Writes:   if it copies, [dst, dst + size) and nothing else
 *
 * The carry flag makes each addition wait for the one before. Two chains run side by side, which
 * is as much as two loads a cycle can feed. There is no indirect jump: kernels would turn it into
 * a retpoline.
 */
#include "sum/x86_64/form.h"

/* chain += the 64-bit word at offset(DATA), by addq or adcq. Moves leave the carry flag alone. */
.macro ADD_WORD add, offset, chain
#if COPIES
    CARRY_LOAD movq \offset(%rsi), %r10
    CARRY_STORE movq %r10, \offset(%rdi)
    \add %r10, \chain
#else
    \add \offset(%rdi), \chain
#endif
.endm

/* chain and the carry flag += the 64-bit words at offset(DATA), `bytes` in all. */
.macro CHAIN_WORDS chain, offset, bytes
    ADD_WORD addq, \offset, \chain
    .set at, 8
    .rept \bytes / 8 - 1
    ADD_WORD adcq, \offset+at, \chain
    .set at, at + 8
    .endr
.endm

/* chain += the same. */
.macro ADD_WORDS chain, offset, bytes
    CHAIN_WORDS \chain, \offset, \bytes
    adcq $0, \chain
.endm

/* rax += the words of all blocks of 128 bytes, at least one. Spoils r8. */
.macro ADD_BLOCKS
    xorl %r8d, %r8d
.Lblock:
    ADD_WORDS %rax, 0, 64
    ADD_WORDS %r8, 64, 64
    ADVANCE 128
    cmpq $128, SIZE
    jae .Lblock
    addq %r8, %rax
    adcq $0, %rax
.endm

/*
 * rax += the last size % 8 bytes, from the word that ends with them: shifted right by 8 bytes less
 * those, in two steps since a shift by 64 bits would be none. rax is under 2^33 before: no carry.
 */
.macro ADD_LAST
    CARRY_LOAD movq -8(DATA, SIZE), %r10
#if COPIES
    movq %r10, %r9
#endif
    movl SIZE32, %ecx
    notl %ecx
    shll $3, %ecx
    shrq %cl, %r10
    shrq $8, %r10
    addq %r10, %rax
.endm

.macro SUM_SCALAR
    cmpq $8, SIZE
    jb .Lunder8
    movl SUM, %eax
    cmpq $128, SIZE
    jae .Lblocks
#if RECOVERS
    CARRY_LOAD cmpb %al, (%rsi)         /* before the last: one fault is all that is to happen */
#endif
    ADD_LAST
    cmpq $16, SIZE
    jb .L8bytes
    cmpq $32, SIZE
    jb .L16bytes
    cmpq $64, SIZE
    jb .L32bytes

.L64bytes:
    ADD_WORDS %rax, 0, 64
    ADVANCE 64
    testb $56, SIZE8
    jz .Llast
.Lunder64:
    testb $32, SIZE8
    jz .Lunder32
.L32bytes:
    ADD_WORDS %rax, 0, 32
    ADVANCE 32
.Lunder32:
    testb $16, SIZE8
    jz .Lunder16
.L16bytes:
    ADD_WORDS %rax, 0, 16
    ADVANCE 16
.Lunder16:
    testb $8, SIZE8
    jz .Llast
.L8bytes:
    ADD_WORDS %rax, 0, 8
#if COPIES
    ADVANCE 8
.Llast:
    andl $7, %edx
    jz .Lfold
    CARRY_STORE movq %r9, -8(%rdi, %rdx)
#else
.Llast:
#endif
.Lfold:
    movq %rax, %r9
    shrq $32, %r9
    addl %r9d, %eax
    adcl $0, %eax
    RETURN_SUM

.Lblocks:
    ADD_BLOCKS
    movl %eax, %r10d
    shrq $32, %rax
    addq %r10, %rax
    ADD_LAST
    testb $64, SIZE8
    jnz .L64bytes
    testb $56, SIZE8
    jnz .Lunder64
    jmp .Llast

.Lunder8:
    movl SUM, %eax
    cmpl $4, SIZE32
    jb .Lunder4
    /* The first 4 bytes and the last 4; where they overlap, the same bits meet. */
    leal -4(SIZE), %ecx
    CARRY_LOAD movl (DATA), %r9d
    CARRY_LOAD movl (DATA, %rcx), %r8d
#if COPIES
    CARRY_STORE movl %r9d, (%rdi)
    CARRY_STORE movl %r8d, (%rdi, %rcx)
#endif
    shll $3, %ecx
    shlq %cl, %r8
    orq %r8, %r9
    addq %r9, %rax                      /* under 2^56 + 2^32, as above */
    jmp .Lfold

.Lunder4:
    testl SIZE32, SIZE32
    jz .Lnone
    /* The first byte, the middle one and the last one, each at its place; some may be the same. */
    movl SIZE32, %r10d
    shrl $1, %r10d
    leal -1(SIZE), %ecx
    CARRY_LOAD movzbl (DATA), %r9d
    CARRY_LOAD movzbl (DATA, %r10), %r11d
    CARRY_LOAD movzbl (DATA, %rcx), %r8d
#if COPIES
    CARRY_STORE movb %r9b, (%rdi)
    CARRY_STORE movb %r11b, (%rdi, %r10)
    CARRY_STORE movb %r8b, (%rdi, %rcx)
#endif
    shll $3, %ecx
    shll %cl, %r8d
    leal (, %r10, 8), %ecx
    shll %cl, %r11d
    orl %r8d, %r9d
    orl %r11d, %r9d
    addl %r9d, %eax
    adcl $0, %eax
.Lnone:
    RETURN_SUM
.endm
