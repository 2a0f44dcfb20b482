/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * SUM_SCALAR: the whole scalar kernel, including its return. It is the kernel adc.S, and a part of
 * each vector kernel without masked loads, because a jump to it would cost more than the vectors
 * gain. Kernels with masked loads use parts of it: short.h.
 *
 * sum + the little-endian 64-bit words of data, with end-around carry, folded to 32 bits. 2^16 is
 * 1 modulo 0xffff, so words of any multiple of 16 bits add up to the same checksum.
 *
 * In:       DATA, SIZE, SUM: see form.h
 * Out:      eax; or rax and rdx
 * Clobbers: rcx, rdx, rsi, rdi, r8 to r11, flags
 * Reads:    [data, data + size) and nothing else
 * Writes:   if it copies, [dst, dst + size) and nothing else
 *
 * A conditional branch that goes both ways costs about as much as four additions if it is
 * predicted, and some twenty times that if it is not. So there are few of them: up to 128 bytes,
 * the words at the end are loaded for any size, and bytes that earlier words contain are masked
 * out. There is no indirect jump, because operating-system kernels would turn it into a retpoline.
 */
#include "sum/x86_64/form.h"

/* chain += the 64-bit word at offset(DATA), with addq or adcq. Moves keep the carry flag. */
.macro ADD_WORD add, offset, chain
#if COPIES
    CARRY_LOAD CARRY_DONE(\offset), movq \offset(%rsi), %r10
    CARRY_STORE CARRY_DONE(\offset), movq %r10, \offset(%rdi)
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

/* chain += the 64-bit words at offset(DATA), `bytes` in all, and the carry of the last addition. */
.macro ADD_WORDS chain, offset, bytes
    CHAIN_WORDS \chain, \offset, \bytes
    adcq $0, \chain
.endm

    .section .rodata
    .balign 64
.Lmasks:
    .fill 32, 1, 0
    .fill 32, 1, 0xff

/*
 * word = the 64-bit word `back` bytes before the end, with zeros for its bytes before `from`. Forms
 * that copy store the whole word. rcx holds the address of .Lmasks. `last` is 0 for the first of
 * several words, otherwise the number of words left.
 */
.macro LOAD_END from, back, word, last=0
#if COPIES
    CARRY_LOAD CARRY_DONE_END(\from, \last), movq -\back(%rsi, SIZE), \word
    CARRY_STORE CARRY_DONE_END(\from, \last), movq \word, -\back(%rdi, SIZE)
    andq 32-\from-\back(%rcx, SIZE), \word
#else
    movq 32-\from-\back(%rcx, SIZE), \word
    andq -\back(%rdi, SIZE), \word
#endif
.endm

/* register <<= rcx. With BMI2 that is one micro-operation, without it three on Intel's CPUs. */
.macro SHIFT_LEFT register
#if BMI2
    shlxq %rcx, \register, \register
#else
    shlq %cl, \register
#endif
.endm

/*
 * eax = SUM64 and the carry flag, folded. The flag comes from an addition without a carry in, or
 * from a chain that began with such an addition: if it is set, SUM64 is not all ones. So a carry
 * here causes no second carry.
 */
.macro RETURN_FOLDED
#if BMI2
    rorxq $32, SUM64, %rax
    adcl SUM, %eax
#else
    adcq $0, SUM64
    movq SUM64, %rax
    shrq $32, %rax
    addl SUM, %eax
#endif
    adcl $0, %eax
    RETURN_SUM
.endm

/*
 * rax = the sum of the words after the first `from` bytes, at most `end` bytes. These words are
 * counted from the end of the data, so their bytes are swapped if the size is odd. A rotation by 8
 * bits for each byte corrects this: rotations by whole words do not change the sum modulo 0xffff.
 */
.macro SUM_END from, end
    LOAD_END \from, \end, %rax
    .if \end == 32
    LOAD_END \from, 24, %r8, 3
    LOAD_END \from, 16, %r9, 2
    LOAD_END \from, 8, %r10, 1
    addq %r8, %rax
    adcq %r9, %rax
    adcq %r10, %rax
    adcq $0, %rax
    .elseif \end == 16
    LOAD_END \from, 8, %r8, 1
    addq %r8, %rax
    adcq $0, %rax
    .endif
    movl SIZE32, %ecx
    shll $3, %ecx
    rolq %cl, %rax
.endm

/* Sums the first `from` bytes, and the rest. Forms that copy begin with the first bytes, so that
 * these are stored first. */
.macro SUM_BOTH from, end
    leaq .Lmasks(%rip), %rcx
#if COPIES
    ADD_WORDS SUM64, 0, \from
    SUM_END \from, \end
    addq %rax, SUM64
#else
    SUM_END \from, \end
    CHAIN_WORDS SUM64, 0, \from
    adcq %rax, SUM64
#endif
    RETURN_FOLDED
.endm

/* Sums 65 to 128 bytes. */
.macro SUM_128
    cmpl $96, SIZE32
    ja .Labove96
    SUM_BOTH 64, 32
.Labove96:
    SUM_BOTH 96, 32
.endm

/* Returns the sum of any number of bytes; if `limit` is 64, of at most 64. Requires the label
 * .Lscalar directly before it. */
.macro SUM_SCALAR limit=0
    cmpq $32, SIZE
    ja .Labove32
    cmpl $16, SIZE32
    jbe .Lupto16
    SUM_BOTH 16, 16

.Labove32:
    .if \limit != 64
    cmpq $64, SIZE
    ja .Labove64
    .endif
    SUM_BOTH 32, 32

    .if \limit != 64
.Labove64:
    cmpq $128, SIZE
    jae .Lblocks
    SUM_128
    .endif

.Lupto16:
    cmpl $8, SIZE32
    jb .Lunder8
    ja .Labove8
    ADD_WORD addq, 0, SUM64
    RETURN_FOLDED
.Labove8:
    SUM_BOTH 8, 8

    .if \limit != 64
    /* Blocks of 128 bytes, in two chains because the carry flag makes additions wait. */
.Lblocks:
    xorl %r8d, %r8d
.Lblock:
    ADD_WORDS SUM64, 0, 64
    ADD_WORDS %r8, 64, 64
    ADVANCE 128
    cmpq $128, SIZE
    jae .Lblock
    addq %r8, SUM64
    adcq $0, SUM64
    testq SIZE, SIZE
    jnz .Lscalar
    RETURN_FOLDED
    .endif

.Lunder8:
    cmpl $4, SIZE32
    jb .Lunder4
    /* The first 4 bytes and the last 4. If they overlap, the shared bits are the same. */
    leal -4(SIZE), %ecx
    CARRY_LOAD 0, movl (DATA), %r9d
    CARRY_LOAD 0, movl (DATA, %rcx), %r8d
#if COPIES
    CARRY_STORE 0, movl %r9d, (%rdi)
    CARRY_STORE CARRY_DONE(4), movl %r8d, (%rdi, %rcx)
#endif
    shll $3, %ecx
    SHIFT_LEFT %r8
    orq %r8, %r9
    addq %r9, SUM64
    RETURN_FOLDED

.Lunder4:
    testl SIZE32, SIZE32
    jz .Lnone
    /* The first, the middle and the last byte, each at its place; some may be the same byte. */
    movl SIZE32, %r10d
    shrl $1, %r10d
    leal -1(SIZE), %ecx
    CARRY_LOAD 0, movzbl (DATA), %r9d
    CARRY_LOAD 0, movzbl (DATA, %r10), %eax
    CARRY_LOAD 0, movzbl (DATA, %rcx), %r8d
#if COPIES
    CARRY_STORE 0, movb %r9b, (%rdi)
    CARRY_STORE CARRY_DONE(1), movb %al, (%rdi, %r10)
    CARRY_STORE CARRY_DONE(2), movb %r8b, (%rdi, %rcx)
#endif
    shll $3, %ecx
    SHIFT_LEFT %r8
    leal (, %r10, 8), %ecx
    SHIFT_LEFT %rax
    orl %r8d, %r9d
    orl %eax, %r9d
    addq %r9, SUM64
.Lnone:
    RETURN_FOLDED
.endm
