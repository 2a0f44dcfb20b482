/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * w0 = sum + the 16-bit words of data, in vectors of any length: VL bytes
 *
 * uint32_t carry_sum_<KERNEL>(const void *data, size_t size, uint32_t sum)
 * uint32_t carry_sum_copy_<KERNEL>(void *dst, const void *src, size_t size, uint32_t sum)
 *
 * A lane of 64 bits takes four words by a dot product with ones (udot), or two double words by an
 * addition of neighbours (uadalp, SVE2). 2^16 is 1 modulo 2^16 - 1, so the two have one remainder.
 * Lanes with sums of double words are summed as four words each in the end.
 *
 * The last 4 VL bytes, or fewer, are loaded by masks: the way through them depends on no size.
 *
 * Parameters:
 *   KERNEL   the name of the kernel
 *   PAIRS    1: every second vector goes by uadalp, which CPUs run beside udot
 *   COPIES   1: the form that copies
 *
 * In:       sums: x0 data, x1 size, w2 sum; copies: x0 dst, x1 src, x2 size, w3 sum
 * Out:      w0
 * Vectors:  z0, z2 sums by udot; z1, z3 sums by udot or uadalp; z7 ones; z16 to z31 data
 * Masks:    p0 to p3 the last four vectors; p4 all
 * Clobbers: x0 to x8, z0 to z3, z7, z16 to z31, p0 to p4, flags; d8 to d15 are the caller's
 * Reads:    [data, data + size) and nothing else: what a mask leaves out is not loaded
 */
#ifndef COPIES
#define COPIES 0
#endif

#include "base/asm_aarch64.h"

#define FORM_OF(prefix, kernel) prefix##kernel
#define FORM(prefix, kernel)    FORM_OF(prefix, kernel)
#if COPIES
#define FUNCTION FORM(carry_sum_copy_, KERNEL)
#define TO       x0
#define DATA     x1
#define SIZE     x2
#define SUM      w3
#define SUM64    x3
#else
#define FUNCTION FORM(carry_sum_, KERNEL)
#define DATA     x0
#define SIZE     x1
#define SUM      w2
#define SUM64    x2
#endif

/* Of double words a lane takes two of each vector, of which it has every fourth: it could carry
 * after 2^37 bytes. Those beyond a part are summed as another call would. */
#ifndef PART_BYTES
#define PART_BYTES (1 << 36)
#endif
#if PAIRS
#define PART x8
#else
#define PART SIZE
#endif

/* The vector at \at * VL. */
.macro LOAD vector, at, mask=p4
    ld1b    {z\vector\().b}, \mask/z, [DATA, #\at, mul vl]
.endm

.macro STORE vector, at, mask=p4
#if COPIES
    st1b    {z\vector\().b}, \mask, [TO, #\at, mul vl]
#endif
.endm

.macro ADVANCE bytes
    add     DATA, DATA, \bytes
#if COPIES
    add     TO, TO, \bytes
#endif
.endm

/* By \count VL. */
.macro MOVE_BY count
    addvl   DATA, DATA, #\count
#if COPIES
    addvl   TO, TO, #\count
#endif
.endm

.macro ADD_WORDS vector, sums
    udot    z\sums\().d, z\vector\().h, z7.h
.endm

.macro ADD_PAIRS vector, sums
#if PAIRS
    uadalp  z\sums\().d, p4/m, z\vector\().s
#else
    ADD_WORDS \vector, \sums
#endif
.endm

.macro ADD_4 a, b, c, d
    ADD_WORDS \a, 0
    ADD_PAIRS \b, 1
    ADD_WORDS \c, 2
    ADD_PAIRS \d, 3
.endm

.macro TAKE_4 at0, at1, at2, at3, a, b, c, d, mask0=p4, mask1=p4, mask2=p4, mask3=p4
    LOAD    \a, \at0, \mask0
    LOAD    \b, \at1, \mask1
    LOAD    \c, \at2, \mask2
    LOAD    \d, \at3, \mask3
    STORE   \a, \at0, \mask0
    STORE   \b, \at1, \mask1
    STORE   \c, \at2, \mask2
    STORE   \d, \at3, \mask3
    ADD_4   \a, \b, \c, \d
.endm

CARRY_FUNCTION FUNCTION
    ptrue   p4.b
    mov     z7.h, #1
#if PAIRS
.Lpart:
    mov     PART, #PART_BYTES
    cmp     SIZE, PART
    csel    PART, SIZE, PART, lo
    sub     SIZE, SIZE, PART
#endif
    mov     z0.d, #0
    mov     z1.d, #0
    mov     z2.d, #0
    mov     z3.d, #0
    cntb    x4, all, mul #16
    subs    PART, PART, x4
    b.lo    .Lunder16
    MOVE_BY 8                                   /* so that the immediate offsets reach 16 vectors */
.Lvectors16:
    TAKE_4  -8, -7, -6, -5, 16, 17, 18, 19
    TAKE_4  -4, -3, -2, -1, 20, 21, 22, 23
    TAKE_4  0, 1, 2, 3, 24, 25, 26, 27
    TAKE_4  4, 5, 6, 7, 28, 29, 30, 31
    ADVANCE x4
    subs    PART, PART, x4
    b.hs    .Lvectors16
    MOVE_BY -8
.Lunder16:
    add     PART, PART, x4
    cntb    x4, all, mul #4
    subs    PART, PART, x4
    b.ls    .Llast4
.Lvectors4:
    TAKE_4  0, 1, 2, 3, 16, 17, 18, 19
    ADVANCE x4
    subs    PART, PART, x4
    b.hi    .Lvectors4
.Llast4:
    add     PART, PART, x4
    cntb    x5
    cntb    x6, all, mul #2
    cntb    x7, all, mul #3
    whilelo p0.b, xzr, PART
    whilelo p1.b, x5, PART
    whilelo p2.b, x6, PART
    whilelo p3.b, x7, PART
    TAKE_4  0, 1, 2, 3, 16, 17, 18, 19, p0, p1, p2, p3
#if PAIRS
    ADD_WORDS 1, 0
    ADD_WORDS 3, 2
#else
    add     z0.d, z0.d, z1.d
    add     z2.d, z2.d, z3.d
#endif
    add     z0.d, z0.d, z2.d
    uaddv   d0, p4, z0.d
    fmov    x4, d0
    add     SUM64, x4, SUM, uxtw
    ror     x4, SUM64, #32                      /* as carry_sum_fold64() */
    add     SUM64, SUM64, x4
    lsr     SUM64, SUM64, #32
#if PAIRS
    ADVANCE PART
    cbnz    SIZE, .Lpart
#endif
    mov     w0, SUM
    ret
CARRY_END FUNCTION

CARRY_NOTES
