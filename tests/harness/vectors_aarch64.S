/* SPDX-License-Identifier: MIT */
/*
 * void vectors_around(unsigned char *before, unsigned char *after, bool (*access)(...));
 *
 * Fills all registers of SVE, stores them to `before`, calls access(before, NULL, 1), which must
 * not change them, and stores them to `after`.
 *
 * In:       x0 and x1, each for 32 Z and 17 P registers of the largest size; x2
 * Clobbers: as any call
 */
    .arch armv8.2-a+sve

.macro FOR_EACH count, macro:vararg
    .set at, 0
    .rept \count
    .altmacro
    EXPAND %at, \macro
    .noaltmacro
    .set at, at + 1
    .endr
.endm
.macro EXPAND at, macro:vararg
    \macro \at
.endm

.macro FILL_Z at
    mov     w9, #\at * 7 + 1
    index   z\at\().b, w9, #3
.endm
.macro FILL_P at
    mov     w9, #\at
    mov     w10, #\at * 5 + 3
    whilelt p\at\().b, w9, w10
.endm
.macro STORE_Z at
    str     z\at, [x19, #\at, mul vl]
.endm
.macro STORE_P at
    str     p\at, [x20, #\at, mul vl]
.endm

.macro STORE_ALL to
    mov     x19, \to
    addvl   x20, \to, #16
    addvl   x20, x20, #16
    FOR_EACH 32, STORE_Z
    FOR_EACH 16, STORE_P
    rdffr   p0.b
    str     p0, [x20, #16, mul vl]
    ldr     p0, [x20]
.endm

    .text
    .globl vectors_around
    .hidden vectors_around
    .type vectors_around, %function
    .balign 16
vectors_around:
    hint    #34
    stp     x29, x30, [sp, #-112]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     d8, d9, [sp, #48]
    stp     d10, d11, [sp, #64]
    stp     d12, d13, [sp, #80]
    stp     d14, d15, [sp, #96]
    mov     x21, x0
    mov     x22, x1
    FOR_EACH 16, FILL_P
    wrffr   p2.b
    FOR_EACH 32, FILL_Z
    STORE_ALL x21
    mov     x0, x21
    mov     x1, #0
    mov     x3, x2
    mov     x2, #1
    blr     x3
    STORE_ALL x22
    ldp     d14, d15, [sp, #96]
    ldp     d12, d13, [sp, #80]
    ldp     d10, d11, [sp, #64]
    ldp     d8, d9, [sp, #48]
    ldp     x21, x22, [sp, #32]
    ldp     x19, x20, [sp, #16]
    ldp     x29, x30, [sp], #112
    ret
    .size vectors_around, . - vectors_around

    .section .note.GNU-stack, "", %progbits
