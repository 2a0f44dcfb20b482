/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * w0 = the CRC, with the crc32c instructions in three streams
 *
 * uint32_t carry_crc32c_pmull(const void *data, size_t size, uint32_t crc);
 *
 * crc32cx starts once a cycle, and on some CPUs has a latency of two or three (docs/models.md): so
 * three streams run side by side, the first from `crc`, the others from 0. With n bytes in each
 * stream, and CRCs as polynomials modulo P,
 *
 *     crc(A B C) = crc(A) * x^(16 n) + crc(B) * x^(8 n) + crc(C)
 *
 * The carry-less product of two CRCs with reversed bits is their product times x, and crc32cx
 * multiplies a word by x^32. So the factors are x^(16 n - 33) and x^(8 n - 33), and one crc32cx
 * reduces both products.
 *
 * In:       x0 data, x1 size, w2 crc
 * Out:      w0
 * Streams:  w2, w3, w4 CRCs of A, B, C; x0, x5, x6 their addresses; x7 the end of A
 * Clobbers: x0 to x13, v0 to v3, flags
 * Reads:    [data, data + size) and nothing else
 */
#include "base/asm_aarch64.h"
#include "sum/aarch64/crc32c_words.h"
#include "sum/power_of_x.h"

    .arch   armv8-a+crc+crypto

/* Continues each CRC by 16 bytes of its stream. */
.macro TAKE_16
    ldp     x8, x9, [x0], #16
    ldp     x10, x11, [x5], #16
    ldp     x12, x13, [x6], #16
    crc32cx w2, w2, x8
    crc32cx w3, w3, x10
    crc32cx w4, w4, x12
    crc32cx w2, w2, x9
    crc32cx w3, w3, x11
    crc32cx w4, w4, x13
.endm

.macro LOAD_FACTOR register, factor
    mov     w8, #\factor & 0xffff
    movk    w8, #\factor >> 16, lsl #16
    fmov    \register, w8
.endm

/* Continues the CRC w2 by three streams of \bytes each while they fit; updates x0 and x1. */
.macro ADD_STREAMS bytes
    POWER_OF_X factor_a, 16*\bytes-33
    POWER_OF_X factor_b, 8*\bytes-33
    cmp     x1, #3 * \bytes
    b.lo    .Lend\@
    LOAD_FACTOR s2, factor_a
    LOAD_FACTOR s3, factor_b
.Lstreams\@:
    mov     w3, #0
    mov     w4, #0
    add     x5, x0, #\bytes
    add     x6, x0, #2 * \bytes
    mov     x7, x5
.Lwords\@:
    TAKE_16
    TAKE_16
    cmp     x0, x7
    b.ne    .Lwords\@
    fmov    s0, w2
    fmov    s1, w3
    pmull   v0.1q, v0.1d, v2.1d
    pmull   v1.1q, v1.1d, v3.1d
    eor     v0.16b, v0.16b, v1.16b
    fmov    x8, d0
    crc32cx w2, wzr, x8
    eor     w2, w2, w4
    mov     x0, x6
    sub     x1, x1, #3 * \bytes
    cmp     x1, #3 * \bytes
    b.hs    .Lstreams\@
.Lend\@:
.endm

CARRY_FUNCTION carry_crc32c_pmull
    mvn     w2, w2
    cmp     x1, #384
    b.lo    .Lwords
    ADD_STREAMS 480                             /* Ethernet packets; the next line: the rest */
    ADD_STREAMS 128                             /* below that, joining costs more than it gains */
.Lwords:
    ADD_WORDS
    mvn     w0, w2
    ret
CARRY_END carry_crc32c_pmull

CARRY_NOTES
