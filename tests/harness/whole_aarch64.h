/* SPDX-License-Identifier: MIT */
/*
 * Calls on AArch64 with known values in all registers, including scalable ones: the registers that
 * a function of any procedure call standard receives, and the registers that its caller gets back.
 */
#ifndef CARRY_TESTS_WHOLE_AARCH64_H
#define CARRY_TESTS_WHOLE_AARCH64_H

#define WHOLE_INTEGERS 17 /* x0 to x15, x18 */
#define WHOLE_X18      16
#define WHOLE_KEPT     11 /* x19 to x29 */
#define WHOLE_WORDS    36 /* on the stack */

/* Offsets in struct whole. */
#define WHOLE_AT_KEPT    136
#define WHOLE_AT_WORDS   224
#define WHOLE_AT_VECTORS 512

/* Bits of whole_mode: vectors are scalable; streaming mode is on. */
#define WHOLE_SCALABLE  0
#define WHOLE_STREAMING 1

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

struct whole {
    uint64_t integers[WHOLE_INTEGERS];
    uint64_t kept[WHOLE_KEPT];
    uint64_t words[WHOLE_WORDS];
    /* z0 to z31, then p0 to p15, one after the other, each with its current size; or q0 to q31. */
    _Alignas(16) uint8_t vectors[34 * 256];
};

extern uint64_t whole_mode;

/* Returns the bytes of a vector in the current mode. */
size_t whole_vector_bytes(void);

/*
 * Calls a function with the registers and words of `in`, and stores them to `out` after the call.
 */
void whole_call(const void *function, const struct whole *in, struct whole *out);

/*
 * Functions that store all registers to whole_seen, and return x0 to x7, z0 to z7 and p0 to p3 of
 * whole_given. whole_target() begins with a landing pad, whole_entry() with a NOP instead.
 */
extern struct whole whole_seen, whole_given;
void whole_target(void);
void whole_entry(void);

/* Overwrites all registers that a function of the base standard may change. */
void whole_spoil(void);

#else

/* clang-format off */

.macro WHOLE_SYMBOL reg, symbol
    adrp    \reg, :got:\symbol
    ldr     \reg, [\reg, :got_lo12:\symbol]
.endm

/* Loads or stores integers and preserved registers, in memory at \base. */
.macro WHOLE_GENERAL pair, single, base
    \pair   x2, x3, [\base, #16]
    \pair   x4, x5, [\base, #32]
    \pair   x6, x7, [\base, #48]
    \pair   x8, x9, [\base, #64]
    \pair   x10, x11, [\base, #80]
    \pair   x12, x13, [\base, #96]
    \pair   x14, x15, [\base, #112]
    \single x18, [\base, #128]
    \pair   x0, x1, [\base]
.endm

.macro WHOLE_CALLEE_SAVED pair, single, base
    \pair   x19, x20, [\base, #WHOLE_AT_KEPT]
    \pair   x21, x22, [\base, #WHOLE_AT_KEPT + 16]
    \pair   x23, x24, [\base, #WHOLE_AT_KEPT + 32]
    \pair   x25, x26, [\base, #WHOLE_AT_KEPT + 48]
    \pair   x27, x28, [\base, #WHOLE_AT_KEPT + 64]
    \single x29, [\base, #WHOLE_AT_KEPT + 80]
.endm

/*
 * Loads or stores all vectors and predicates, or only the registers of results, in memory at x16.
 * Clobbers x17.
 */
.macro WHOLE_VECTORS single, results=0
    WHOLE_SYMBOL x17, whole_mode
    ldr     x17, [x17]
    tbnz    x17, #WHOLE_SCALABLE, 1f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
            24, 25, 26, 27, 28, 29, 30, 31
    .if !\results || \n < 8
    \single q\n, [x16, #16 * \n]
    .endif
    .endr
    b       2f
1:  addvl   x17, x16, #16
    addvl   x17, x17, #16
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
            24, 25, 26, 27, 28, 29, 30, 31
    .if !\results || \n < 8
    \single z\n, [x16, #\n, mul vl]
    .endif
    .if \n < 4 || (!\results && \n < 16)
    \single p\n, [x17, #\n, mul vl]
    .endif
    .endr
2:
.endm

/* Stores all registers to whole_seen, and returns the results in whole_given. */
.macro WHOLE_TAKE
    WHOLE_SYMBOL x16, whole_seen
    WHOLE_GENERAL stp, str, x16
    WHOLE_CALLEE_SAVED stp, str, x16
    add     x16, x16, #WHOLE_AT_WORDS
    mov     x17, #0
1:  ldr     x0, [sp, x17, lsl #3]
    str     x0, [x16, x17, lsl #3]
    add     x17, x17, #1
    cmp     x17, #WHOLE_WORDS
    b.lo    1b
    add     x16, x16, #WHOLE_AT_VECTORS - WHOLE_AT_WORDS
    WHOLE_VECTORS str
    WHOLE_SYMBOL x16, whole_given
    ldp     x0, x1, [x16]
    ldp     x2, x3, [x16, #16]
    ldp     x4, x5, [x16, #32]
    ldp     x6, x7, [x16, #48]
    add     x16, x16, #WHOLE_AT_VECTORS
    WHOLE_VECTORS ldr, 1
    ret
.endm

#endif

#endif
