/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The arithmetic of template.h with dot products. The kernel's file defines
 *
 *     DOT ones, words, acc    acc.32[i] += words.16[2i] + words.16[2i + 1], signed; clobbers words
 *
 * A dot product with ones adds two words to each 32-bit lane, but treats them as signed. So their
 * sign bits are flipped: this turns each word w into w - 0x8000. Then 0x8000 is added back for each
 * word, including the zeros of a masked load:
 *
 *     sum of words = sum of (w ^ 0x8000, signed) + 0x8000 * words          (modulo 2^32)
 *
 * The words of one part, at most 128 KiB, add up to less than 2^32. So arithmetic modulo 2^32 is
 * exact: no carry is lost.
 */
#define HAS_DOT 1
#define BIAS_SHIFT 14                   /* 0x8000 a word is 2^14 a byte */

.macro SET_CONSTANTS
#if VECTOR_BYTES == 64
    vpternlogd $0xff, ONES, ONES, ONES
#else
    vpcmpeqw ONES, ONES, ONES
#endif
    vpsllw $15, ONES, FLIP
    vpsrlw $15, ONES, ONES
.endm

/* V(n) = the words of vector i, their sign bits flipped; forms that copy store the words. */
#if COPIES
#define TAKE(i, n)                                                                                 \
    CARRY_LOAD CARRY_DONE((i) * VECTOR_BYTES), VMOVDQU (i) * VECTOR_BYTES(%rsi), V(n);             \
    CARRY_STORE CARRY_DONE((i) * VECTOR_BYTES), VMOVDQU V(n), (i) * VECTOR_BYTES(%rdi);            \
    VPXOR V(n), FLIP, V(n)
#else
#define TAKE(i, n) VPXOR (i) * VECTOR_BYTES(%rdi), FLIP, V(n)
#endif

#define ADD_VECTOR                                                                                 \
    TAKE(0, 8);                                                                                    \
    DOT ONES, V(8), V(6)

#define ADD_2_VECTORS                                                                              \
    TAKE(0, 8); TAKE(1, 9);                                                                        \
    DOT ONES, V(8), V(4); DOT ONES, V(9), V(5)

#define ADD_4(at, a, b, c, d)                                                                      \
    TAKE(at + 0, 8); TAKE(at + 1, 9); TAKE(at + 2, 10); TAKE(at + 3, 11);                          \
    DOT ONES, V(8), V(a); DOT ONES, V(9), V(b); DOT ONES, V(10), V(c); DOT ONES, V(11), V(d)

#define ADD_4_VECTORS ADD_4(0, 0, 1, 2, 3)
#define ADD_8_VECTORS ADD_4(0, 0, 1, 2, 3); ADD_4(4, 4, 5, 6, 7)

#define ADD_TAKEN                                                                                  \
    VPXOR V(8), FLIP, V(8);                                                                        \
    DOT ONES, V(8), V(7)

/* r8d = 0x8000 for each word of r8 bytes, and of the vectors that hold the r9 bytes after them.
 * Clobbers rax. */
.macro SET_BIAS
    leal REST_VECTORS * VECTOR_BYTES - 1(%r9), %eax
    andl $-REST_VECTORS * VECTOR_BYTES, %eax
    addl %eax, %r8d
    shll $BIAS_SHIFT, %r8d
.endm

/* eax = the sum in V(0) to V(7) and r8d, modulo 2^32; clobbers rcx, r9. */
.macro SUM_PART
    MERGE_8_TO_2 vpaddd
    vpaddd V(4), V(0), V(0)
    FOLD_LANES
    vpextrq $1, %xmm0, %rcx
    vmovq %xmm0, %rax
    rorxq $32, %rcx, %r9
    addl %r9d, %ecx
    rorxq $32, %rax, %r9
    addl %r9d, %eax
    addl %ecx, %eax
    addl %r8d, %eax
.endm
