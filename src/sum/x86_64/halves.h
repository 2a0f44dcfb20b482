/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The arithmetic of template.h with only additions, for CPUs that lower their clock for vector
 * multiplications.
 *
 * Each 64-bit lane is added as a whole, modulo 2^64, and its upper half is added again separately:
 *
 *     whole = low + 2^32 * high    (modulo 2^64)        low, high: exact sums of the halves
 *     low + high = whole - 2^32 * high + high
 *
 * A part has at most 2^15 words of 32 bits, so each sum is below 2^46 and both together are below
 * 2^47: no carry is lost. This needs one instruction per vector more than AVX2 with dot.h.
 */

#define HAS_DOT 0

.macro SET_CONSTANTS
.endm

/* V(n) = vector i; forms that copy store it. */
#if COPIES
#define TAKE(i, n)                                                                                 \
    CARRY_LOAD CARRY_DONE((i) * VECTOR_BYTES), VMOVDQU (i) * VECTOR_BYTES(%rsi), V(n);             \
    CARRY_STORE CARRY_DONE((i) * VECTOR_BYTES), VMOVDQU V(n), (i) * VECTOR_BYTES(%rdi)
#else
#define TAKE(i, n) VMOVDQU (i) * VECTOR_BYTES(%rdi), V(n)
#endif

/* whole += V(n), high += its upper halves */
#define ADD_HALVES(n, whole, high)                                                                 \
    vpaddq V(n), V(whole), V(whole);                                                               \
    vpsrlq $32, V(n), V(n);                                                                        \
    vpaddq V(n), V(high), V(high)

#define ADD_VECTOR                                                                                 \
    TAKE(0, 8);                                                                                    \
    ADD_HALVES(8, 2, 6)

#define ADD_2_VECTORS                                                                              \
    TAKE(0, 8); TAKE(1, 9);                                                                        \
    ADD_HALVES(8, 0, 4); ADD_HALVES(9, 1, 5)

#define ADD_4(at)                                                                                  \
    TAKE(at + 0, 8); TAKE(at + 1, 9); TAKE(at + 2, 10); TAKE(at + 3, 11);                          \
    ADD_HALVES(8, 0, 4); ADD_HALVES(9, 1, 5); ADD_HALVES(10, 2, 6); ADD_HALVES(11, 3, 7)

#define ADD_4_VECTORS ADD_4(0)
#define ADD_8_VECTORS ADD_4(0); ADD_4(4)

#define ADD_TAKEN ADD_HALVES(8, 3, 7)

.macro SET_BIAS
.endm

/* eax = the sum in V(0) to V(7), folded; clobbers rcx. */
.macro SUM_PART
    MERGE_8_TO_2 vpaddq
    vpsllq $32, V(4), V(5)
    vpsubq V(5), V(0), V(0)
    vpaddq V(4), V(0), V(0)
    vextracti128 $1, %ymm0, %xmm1
    vpaddq %xmm1, %xmm0, %xmm0
    vpextrq $1, %xmm0, %rcx
    vmovq %xmm0, %rax
    addq %rcx, %rax
    rorxq $32, %rax, %rcx
    addl %ecx, %eax
    adcl $0, %eax
.endm
