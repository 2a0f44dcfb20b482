/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A copy that survives a fault at any byte: the code of every such kernel on AArch64. The file that
 * includes it defines
 *
 *     FUNCTION    the kernel's name
 *     VECTORS     1 for vector registers, 0 for general registers only
 *     SUMS        1 if the kernel also sums
 *
 * dst[i] = src[i]    for i from 0 to size - 1
 *
 * With SUMS, the function also computes sum + the 64-bit words of data, with end-around carry,
 * folded to 32 bits: 2^16 is 1 modulo 0xffff, so words of any multiple of 16 bits add up to the
 * same checksum.
 *
 * size_t carry_copy_try_<name>(void *dst, const void *src, size_t size);
 * struct carry_sum_tried carry_sum_copy_try_<name>(void *dst, const void *src, size_t size,
 *                                                  uint32_t sum);
 *
 * In:       x0 dst, x1 src, x2 size, w3 sum
 * Out:      x0 the bytes left; x1 the sum, or -1 after a fault
 * Clobbers: x1 to x13, x16, flags, v0 to v3, v16 to v19
 *
 * The pages of the target are copied one after the other, because no store may cross the end of a
 * page (see base/fault_aarch64.h); stores need no alignment. A page need not start at a word of the
 * sum. After an odd number of bytes of a page, the sum is rotated by 8 bits. This swaps the bytes
 * of all its words, so that the bytes that follow can be summed as if they began at a word.
 */
#include "base/asm_aarch64.h"
#include "base/fault_aarch64.h"

#define BLOCK_BYTES 64

#define SUM         x3
#define IN_PAGE     x4                  /* bytes to copy up to the end of the target's page */
#define SIZE        x5                  /* bytes to copy in total */

.macro ADVANCE bytes
    add     x0, x0, #\bytes
    add     x1, x1, #\bytes
    sub     x2, x2, #\bytes
.endm

/* SUM += words, with end-around carry. If an addition carries, its result is less than all ones, so
 * adding the carry cannot carry again. */
.macro ADD_WORDS first, others:vararg
#if SUMS
    adds    SUM, SUM, \first
    .irp word, \others
    .ifnb \word
    adcs    SUM, SUM, \word
    .endif
    .endr
    adc     SUM, SUM, xzr
#endif
.endm

/* words += the vector's 16-bit words, two a lane; a lane of 32 bits can hold the sum of a page. */
.macro ADD_VECTOR words, vector
#if SUMS
    uadalp  \words\().4s, \vector\().8h
#endif
.endm

.macro TAKE_BLOCK
#if VECTORS
    CARRY_LOAD 0, ldp q0, q1, [x1]
    CARRY_LOAD 0, ldp q2, q3, [x1, #32]
    CARRY_STORE 0, stp q0, q1, [x0]
    CARRY_STORE 32, stp q2, q3, [x0, #32]
    ADD_VECTOR v16, v0
    ADD_VECTOR v17, v1
    ADD_VECTOR v18, v2
    ADD_VECTOR v19, v3
#else
    CARRY_LOAD 0, ldp x6, x7, [x1]
    CARRY_LOAD 0, ldp x8, x9, [x1, #16]
    CARRY_LOAD 0, ldp x10, x11, [x1, #32]
    CARRY_LOAD 0, ldp x12, x13, [x1, #48]
    CARRY_STORE 0, stp x6, x7, [x0]
    CARRY_STORE 16, stp x8, x9, [x0, #16]
    CARRY_STORE 32, stp x10, x11, [x0, #32]
    CARRY_STORE 48, stp x12, x13, [x0, #48]
    ADD_WORDS x6, x7, x8, x9, x10, x11, x12, x13
#endif
.endm

.macro BEGIN_BLOCKS
#if VECTORS && SUMS
    movi    v16.2d, #0
    movi    v17.2d, #0
    movi    v18.2d, #0
    movi    v19.2d, #0
#endif
.endm

.macro END_BLOCKS
#if VECTORS && SUMS
    add     v16.4s, v16.4s, v17.4s
    add     v18.4s, v18.4s, v19.4s
    add     v16.4s, v16.4s, v18.4s
    uaddlv  d16, v16.4s
    fmov    x6, d16
    ADD_WORDS x6
#endif
.endm

/* Copies 1 << bit bytes if this bit of IN_PAGE is set. A single byte is summed as the first byte of
 * its word. */
.macro TAKE_WORD bit, load, store, word
    tbz     IN_PAGE, #\bit, .Lnot_\@
    CARRY_LOAD 0, \load \word, [x1]
    CARRY_STORE 0, \store \word, [x0]
    ADVANCE 1 << \bit
#if SUMS
#ifdef __AARCH64EB__
    .if \bit == 0
    lsl     x6, x6, #8
    .endif
#endif
    ADD_WORDS x6
    .if \bit == 0
    ror     SUM, SUM, #56
    .endif
#endif
.Lnot_\@:
.endm

CARRY_FUNCTION FUNCTION
#if SUMS
    mov     w3, w3
    mov     SIZE, x2
#endif
.Lpage:
    and     IN_PAGE, x0, #CARRY_PAGE_BYTES - 1
    mov     x6, #CARRY_PAGE_BYTES
    sub     IN_PAGE, x6, IN_PAGE
    cmp     IN_PAGE, x2
    csel    IN_PAGE, IN_PAGE, x2, lo
    cmp     IN_PAGE, #BLOCK_BYTES
    b.lo    .Lpairs
    BEGIN_BLOCKS
.Lblock:
    TAKE_BLOCK
    ADVANCE BLOCK_BYTES
    sub     IN_PAGE, IN_PAGE, #BLOCK_BYTES
    cmp     IN_PAGE, #BLOCK_BYTES
    b.hs    .Lblock
    END_BLOCKS
.Lpairs:
    cmp     IN_PAGE, #16
    b.lo    .Lwords
    CARRY_LOAD 0, ldp x6, x7, [x1]
    CARRY_STORE 0, stp x6, x7, [x0]
    ADD_WORDS x6, x7
    ADVANCE 16
    sub     IN_PAGE, IN_PAGE, #16
    b       .Lpairs
.Lwords:
    TAKE_WORD 3, ldr, str, x6
    TAKE_WORD 2, ldr, str, w6
    TAKE_WORD 1, ldrh, strh, w6
    TAKE_WORD 0, ldrb, strb, w6
    cbnz    x2, .Lpage
#if SUMS
    tbz     SIZE, #0, .Leven
    ror     SUM, SUM, #56
.Leven:
    lsr     x6, SUM, #32
    adds    w3, w3, w6
    adc     w1, w3, wzr
#endif
    mov     x0, #0
    ret
    CARRY_RECOVER
CARRY_END FUNCTION

CARRY_NOTES
