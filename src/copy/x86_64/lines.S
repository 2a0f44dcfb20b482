/* SPDX-License-Identifier: MIT */
/*
 * dst[i] = src[i]    for i from 0 to size - 1, bypassing the caches
 *
 * void carry_copy_lines(void *dst, const void *src, size_t size);
 *
 * In:       rdi dst, a multiple of 64; rsi src; rdx size, a multiple of 64
 * Clobbers: rdx, rsi, rdi, flags, xmm0 to xmm3
 *
 * 128-bit vectors, which every x86-64 CPU has, are fast enough: memory is the limit. SFENCE: Intel
 * SDM vol. 1, 10.4.6.2, and AMD APM vol. 1, 5.11.
 */
#include "base/asm.h"

CARRY_FUNCTION carry_copy_lines
    testq %rdx, %rdx
    jz .Lfence
.Lline:
    movdqu (%rsi), %xmm0
    movdqu 16(%rsi), %xmm1
    movdqu 32(%rsi), %xmm2
    movdqu 48(%rsi), %xmm3
    movntdq %xmm0, (%rdi)
    movntdq %xmm1, 16(%rdi)
    movntdq %xmm2, 32(%rdi)
    movntdq %xmm3, 48(%rdi)
    addq $64, %rsi
    addq $64, %rdi
    subq $64, %rdx
    jnz .Lline
.Lfence:
    sfence
    ret
CARRY_END carry_copy_lines

CARRY_NOTES
