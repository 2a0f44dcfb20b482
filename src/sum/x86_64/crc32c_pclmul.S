/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * uint32_t carry_crc32c_pclmul(const void *data, size_t size, uint32_t crc);
 *
 * The crc32 instruction has a latency of three cycles, and starts once a cycle: so three streams
 * run side by side, the first from `crc`, the others from 0. With n bytes in each stream, and CRCs
 * as polynomials modulo P,
 *
 *     crc(A B C) = crc(A) * x^(16 n) + crc(B) * x^(8 n) + crc(C)
 *
 * The carry-less product of two CRCs with reversed bits is their product times x, and crc32 of a
 * word multiplies it by x^32. So the factors are x^(16 n - 33) and x^(8 n - 33), and both products
 * are added to the last word of C before crc32 reads it.
 *
 * In:       rdi data, rsi size, edx crc (upper half undefined)
 * Out:      eax
 * Clobbers: rcx, rsi, rdi, r8, r9, xmm0 to xmm3, flags
 * Reads:    [data, data + size) and nothing else
 */
#include "base/asm.h"
#include "sum/power_of_x.h"

/* Continues the CRC eax by three streams of \bytes each while they fit; updates rdi and rsi. */
.macro ADD_STREAMS bytes
    POWER_OF_X factor_a, 16*\bytes-33
    POWER_OF_X factor_b, 8*\bytes-33
    cmpq $3 * \bytes, %rsi
    jb .Lend\@
    movl $factor_a, %ecx
    movd %ecx, %xmm2
    movl $factor_b, %ecx
    movd %ecx, %xmm3
.Lstreams\@:
    xorl %r8d, %r8d
    xorl %r9d, %r9d
    movl $\bytes / 8 - 1, %ecx
.Lwords\@:
    crc32q (%rdi), %rax
    crc32q \bytes(%rdi), %r8
    crc32q 2 * \bytes(%rdi), %r9
    addq $8, %rdi
    decl %ecx
    jnz .Lwords\@
    crc32q (%rdi), %rax
    crc32q \bytes(%rdi), %r8
    movq %rax, %xmm0
    movq %r8, %xmm1
    pclmulqdq $0, %xmm2, %xmm0
    pclmulqdq $0, %xmm3, %xmm1
    pxor %xmm1, %xmm0
    movq %xmm0, %rax
    xorq 2 * \bytes(%rdi), %rax
    crc32q %rax, %r9
    movl %r9d, %eax
    addq $2 * \bytes + 8, %rdi
    subq $3 * \bytes, %rsi
    cmpq $3 * \bytes, %rsi
    jae .Lstreams\@
.Lend\@:
.endm

CARRY_FUNCTION carry_crc32c_pclmul
    movl %edx, %eax
    notl %eax
    cmpq $96, %rsi
    jb .Lwords
    ADD_STREAMS 512                     /* long runs; the next lines: packets, then the rest */
    ADD_STREAMS 128
    ADD_STREAMS 32
.Lwords:
    subq $8, %rsi
    jb .Ltail
.Lword:
    crc32q (%rdi), %rax
    addq $8, %rdi
    subq $8, %rsi
    jae .Lword
.Ltail:
    testb $4, %sil
    jz .Lunder4
    crc32l (%rdi), %eax
    addq $4, %rdi
.Lunder4:
    testb $2, %sil
    jz .Lunder2
    crc32w (%rdi), %eax
    addq $2, %rdi
.Lunder2:
    testb $1, %sil
    jz .Ldone
    crc32b (%rdi), %eax
.Ldone:
    notl %eax
    ret
CARRY_END carry_crc32c_pclmul

CARRY_NOTES
