/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"
#include "xstate/aarch64/vectors.h"

/* Stores or loads v0 to v31, at x0[0 .. 512). */
.macro EACH_PAIR instruction
    .irp    each, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
    PAIR    \instruction, \each, %(\each + 1)
    .endr
.endm

.altmacro
.macro PAIR instruction, first, second
    \instruction q\first, q\second, [x0, #16 * \first]
.endm

    .text

/*
 * area = v0 to v31, FPSR, FPCR
 *
 * void carry_vectors_save(void *area, uint64_t mask)
 *
 * Clobbers: x2, x3
 */
CARRY_FUNCTION carry_vectors_save
    EACH_PAIR stp
    mrs     x2, fpsr
    mrs     x3, fpcr
    str     x2, [x0, #CARRY_VECTORS_CONTROL]
    str     x3, [x0, #CARRY_VECTORS_CONTROL + 8]
    ret
CARRY_END carry_vectors_save

/*
 * v0 to v31, FPSR, FPCR = area
 *
 * void carry_vectors_load(const void *area, uint64_t mask)
 *
 * FPCR is written only if it differs, because the write may wait for all instructions in flight.
 *
 * Clobbers: x2 to x4, flags
 */
CARRY_FUNCTION carry_vectors_load
    EACH_PAIR ldp
    ldr     x2, [x0, #CARRY_VECTORS_CONTROL]
    ldr     x3, [x0, #CARRY_VECTORS_CONTROL + 8]
    msr     fpsr, x2
    mrs     x4, fpcr
    cmp     x3, x4
    b.eq    1f
    msr     fpcr, x3
1:  ret
CARRY_END carry_vectors_load

/*
 * FPSR = FPCR = 0
 *
 * void carry_vectors_start(bool x87)
 */
CARRY_FUNCTION carry_vectors_start
    msr     fpsr, xzr
    msr     fpcr, xzr
    ret
CARRY_END carry_vectors_start

CARRY_NOTES
