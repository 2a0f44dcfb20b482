/* SPDX-License-Identifier: MIT */
/*
 * uint32_t bench_load_<isa>(const void *data, size_t size, uint32_t sum)
 *
 * Loads the bytes of [data, data + size), with the widest vectors as far as possible, and combines
 * them by OR, the cheapest operation. Returns the low half of a word of the combination, so that
 * the return value depends on all loads.
 *
 *   rdi  data; the first byte not loaded yet
 *   rsi  size; bytes not loaded yet
 *   rdx  size
 *   vector registers 0 to 3: accumulators; 4: the last vector
 *
 * Nothing outside the range is read. Clobbers rax, rdx, rdi, rsi, k1, vector registers 0 to
 * 4, flags; the upper halves are left clean.
 */
/* clang-format off */
#include "common/asm_x86_64.h"

/* Loads all whole vectors; rsi is then less than one vector. */
.macro LOAD_VECTORS or, reg, bytes
    sub $4 * \bytes, %rsi
    jb 2f
1:  \or 0 * \bytes(%rdi), %\reg\()0, %\reg\()0
    \or 1 * \bytes(%rdi), %\reg\()1, %\reg\()1
    \or 2 * \bytes(%rdi), %\reg\()2, %\reg\()2
    \or 3 * \bytes(%rdi), %\reg\()3, %\reg\()3
    add $4 * \bytes, %rdi
    sub $4 * \bytes, %rsi
    jae 1b
2:  add $3 * \bytes, %rsi
    js 4f
3:  \or (%rdi), %\reg\()0, %\reg\()0
    add $\bytes, %rdi
    sub $\bytes, %rsi
    jns 3b
4:  add $\bytes, %rsi
.endm

.macro CLEAR
    vpxor %xmm0, %xmm0, %xmm0
    vpxor %xmm1, %xmm1, %xmm1
    vpxor %xmm2, %xmm2, %xmm2
    vpxor %xmm3, %xmm3, %xmm3
.endm

.macro RETURN or, reg
    \or %\reg\()1, %\reg\()0, %\reg\()0
    \or %\reg\()3, %\reg\()2, %\reg\()2
    \or %\reg\()2, %\reg\()0, %\reg\()0
    vmovd %xmm0, %eax
    vzeroupper
    ret
.endm

/* Loads the last, partial vector by one masked load, without a branch. */
FUNCTION bench_load_avx512
    CLEAR
    LOAD_VECTORS vporq, zmm, 64
    mov $-1, %rax
    bzhi %rsi, %rax, %rax
    kmovq %rax, %k1
    vmovdqu8 (%rdi), %zmm4{%k1}{z}
    vporq %zmm4, %zmm1, %zmm1
    RETURN vporq, zmm
END bench_load_avx512

/*
 * Loads the last, partial vector as a whole vector that ends with the last byte, and so overlaps
 * the previous vector. If the range is shorter than a vector, loads two overlapping parts of 16, 8
 * or 4 bytes, or single bytes.
 */
FUNCTION bench_load_avx2
    CLEAR
    mov %rsi, %rdx
    LOAD_VECTORS vpor, ymm, 32
    test %esi, %esi
    jz 5f
    cmp $32, %rdx
    jb 6f
    vpor -32(%rdi, %rsi), %ymm1, %ymm1
5:  RETURN vpor, ymm
6:  cmp $16, %esi
    jb 7f
    vpor (%rdi), %xmm0, %xmm0
    vpor -16(%rdi, %rsi), %xmm1, %xmm1
    RETURN vpor, xmm
7:  cmp $8, %esi
    jb 8f
    mov (%rdi), %rax
    or -8(%rdi, %rsi), %rax
    ret
8:  cmp $4, %esi
    jb 9f
    mov (%rdi), %eax
    or -4(%rdi, %rsi), %eax
    ret
9:  movzbl (%rdi), %eax
    or -1(%rdi, %rsi), %al
    shr %esi
    or (%rdi, %rsi), %al
    ret
END bench_load_avx2

NOTES
