/* SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef CARRY_TESTS_HOOK_REGISTERS_AARCH64_H
#define CARRY_TESTS_HOOK_REGISTERS_AARCH64_H

/* struct callee_registers: x0 to x8, x18; x19 to x29, d8 to d15; q0 to q7. */
#define CALLEE_PASSED  10
#define CALLEE_KEPT    19
#define CALLEE_RESULTS 4 /* vectors */
#define PASSED_RESULT  0
#define PASSED_SECOND  1
#define KEPT_FRAME     10 /* x29 */

#ifdef __ASSEMBLER__

/* GENERAL, KEPT and VECTORS each load or store one part of the struct callee_registers at x9. */
.macro GENERAL pair
    \pair   x2, x3, [x9, #16]
    \pair   x4, x5, [x9, #32]
    \pair   x6, x7, [x9, #48]
    \pair   x8, x18, [x9, #64]
    \pair   x0, x1, [x9]
.endm

.macro KEPT pair, single
    \pair   x19, x20, [x9, #80]
    \pair   x21, x22, [x9, #96]
    \pair   x23, x24, [x9, #112]
    \pair   x25, x26, [x9, #128]
    \pair   x27, x28, [x9, #144]
    \single x29, [x9, #160]
    \pair   d8, d9, [x9, #168]
    \pair   d10, d11, [x9, #184]
    \pair   d12, d13, [x9, #200]
    \pair   d14, d15, [x9, #216]
.endm

/* Clobbers x10. */
.macro VECTORS pair
    add     x10, x9, #232
    \pair   q0, q1, [x10]
    \pair   q2, q3, [x10, #32]
    \pair   q4, q5, [x10, #64]
    \pair   q6, q7, [x10, #96]
.endm

/* Stores the received registers to callee_seen, and returns the passed registers and the vectors
 * of callee_results. */
.macro TAKE_REGISTERS
    adrp    x9, :got:callee_seen
    ldr     x9, [x9, :got_lo12:callee_seen]
    GENERAL stp
    KEPT    stp, str
    VECTORS stp
    adrp    x9, :got:callee_results
    ldr     x9, [x9, :got_lo12:callee_results]
    VECTORS ldp
    GENERAL ldp
    ret
.endm

#endif

#endif
