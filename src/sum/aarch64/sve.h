/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * w0 = sum + the 16-bit words of data, in vectors of any length: VL bytes
 *
 * uint32_t carry_sum_<KERNEL>(const void *data, size_t size, uint32_t sum)
 * uint32_t carry_sum_copy_<KERNEL>(void *dst, const void *src, size_t size, uint32_t sum)
 *
 * Each lane of 64 bits sums four words with a dot product with ones (udot), or two double words
 * with an addition of neighbours (uadalp, SVE2). 2^16 is 1 modulo 2^16 - 1, so both sums have the
 * same remainder. At the end, each lane with sums of double words is summed as four words.
 *
 * The last 4 VL bytes, or fewer, are loaded with masks: this code does not depend on the size.
 *
 * Parameters:
 *   KERNEL   the name of the kernel
 *   PAIRS    1: every second vector is summed by uadalp, in parallel with udot
 *   COPIES   1: the form that copies
 *
 * In:       sums: x0 data, x1 size, w2 sum; copies: x0 dst, x1 src, x2 size, w3 sum
 * Out:      w0
 * Vectors:  z0, z2, z4, z6 sums of udot; z1, z3, z5, z7 sums of udot or uadalp; z16 ones; z24 to
 *           z31 data. Eight sums hide the latency of udot and uadalp.
 * Masks:    p0 to p3 the last four vectors; p4 all
 * Clobbers: x0 to x8, z0 to z7, z16, z24 to z31, p0 to p4, flags; d8 to d15 are preserved
 * Reads:    [data, data + size) and nothing else: a masked load does not touch what it masks out
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

/*
 * In each vector, uadalp adds two double words to a lane, and at the end the lanes of all these
 * sums are added: a lane could overflow after 2^36 bytes. So larger data are summed in parts of
 * PART_BYTES.
 */
#ifndef PART_BYTES
#define PART_BYTES (1 << 35)
#endif
#if PAIRS
#define PART x8
#else
#define PART SIZE
#endif

/* Loads the vector at \at * VL. */
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

/* Moves the pointers by \count VL. */
.macro MOVE_BY count
    addvl   DATA, DATA, #\count
#if COPIES
    addvl   TO, TO, #\count
#endif
.endm

.macro ADD_WORDS vector, sums
    udot    z\sums\().d, z\vector\().h, z16.h
.endm

.macro ADD_PAIRS vector, sums
#if PAIRS
    uadalp  z\sums\().d, p4/m, z\vector\().s
#else
    ADD_WORDS \vector, \sums
#endif
.endm

/* Adds four vectors: LOW_4 loads them into z24 to z27, and adds them to z0 to z3; HIGH_4 uses z28
 * to z31, and z4 to z7. */
.macro LOW_4 at0, at1, at2, at3, mask0=p4, mask1=p4, mask2=p4, mask3=p4
    LOAD    24, \at0, \mask0
    LOAD    25, \at1, \mask1
    LOAD    26, \at2, \mask2
    LOAD    27, \at3, \mask3
    STORE   24, \at0, \mask0
    STORE   25, \at1, \mask1
    STORE   26, \at2, \mask2
    STORE   27, \at3, \mask3
    ADD_WORDS 24, 0
    ADD_PAIRS 25, 1
    ADD_WORDS 26, 2
    ADD_PAIRS 27, 3
.endm

.macro HIGH_4 at0, at1, at2, at3
    LOAD    28, \at0
    LOAD    29, \at1
    LOAD    30, \at2
    LOAD    31, \at3
    STORE   28, \at0
    STORE   29, \at1
    STORE   30, \at2
    STORE   31, \at3
    ADD_WORDS 28, 4
    ADD_PAIRS 29, 5
    ADD_WORDS 30, 6
    ADD_PAIRS 31, 7
.endm

.macro CLEAR a, b, c, d
    mov     z\a\().d, #0
    mov     z\b\().d, #0
    mov     z\c\().d, #0
    mov     z\d\().d, #0
.endm

CARRY_FUNCTION FUNCTION
    ptrue   p4.b
    mov     z16.h, #1
#if PAIRS
.Lpart:
    mov     PART, #PART_BYTES
    cmp     SIZE, PART
    csel    PART, SIZE, PART, lo
    sub     SIZE, SIZE, PART
#endif
    CLEAR   0, 1, 2, 3
    cntb    x4, all, mul #16
    subs    PART, PART, x4
    b.lo    .Lunder16
    CLEAR   4, 5, 6, 7
    MOVE_BY 8                                   /* so that the immediate offsets reach 16 vectors */
.Lvectors16:
    LOW_4   -8, -7, -6, -5
    HIGH_4  -4, -3, -2, -1
    LOW_4   0, 1, 2, 3
    HIGH_4  4, 5, 6, 7
    ADVANCE x4
    subs    PART, PART, x4
    b.hs    .Lvectors16
    MOVE_BY -8
    add     z0.d, z0.d, z4.d
    add     z1.d, z1.d, z5.d
    add     z2.d, z2.d, z6.d
    add     z3.d, z3.d, z7.d
.Lunder16:
    add     PART, PART, x4
    cntb    x4, all, mul #4
    subs    PART, PART, x4
    b.ls    .Llast4
.Lvectors4:
    LOW_4   0, 1, 2, 3
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
    LOW_4   0, 1, 2, 3, p0, p1, p2, p3
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
    ror     x4, SUM64, #32                      /* as in carry_sum_fold64() */
    add     SUM64, SUM64, x4
#if PAIRS
    cbnz    SIZE, .Lnext_part
#endif
    lsr     x0, SUM64, #32
    ret
#if PAIRS
.Lnext_part:
    lsr     SUM64, SUM64, #32
    ADVANCE PART
    b       .Lpart
#endif
CARRY_END FUNCTION

CARRY_NOTES
