/* SPDX-License-Identifier: MIT */
/*
 * The vector table (Arm ARM, D1.3). Each entry saves all general registers in a struct trap_frame,
 * and calls trap_enter(struct trap_frame *). Vector registers are not saved, because the kernel
 * uses them only in sections.
 */
#include "kernel.h"

/* Defines an entry. Its offset in the table identifies the kind of exception. */
.macro VECTOR
    .balign 128
    sub     sp, sp, #FRAME_BYTES
    stp     x0, x1, [sp]
    mov     x0, #(. - trap_vectors) & ~127
    b       trap_common
.endm

    .text
    .balign 2048
    .globl trap_vectors
trap_vectors:
    .rept   16
    VECTOR
    .endr

.macro EACH_PAIR instruction
    .irp    each, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28
    PAIR    \instruction, \each, %(\each + 1)
    .endr
.endm

.altmacro
.macro PAIR instruction, first, second
    \instruction x\first, x\second, [sp, #8 * \first]
.endm

    .balign 64
trap_common:
    EACH_PAIR stp
    mrs     x1, elr_el1
    stp     x30, x1, [sp, #240]
    mrs     x1, spsr_el1
    stp     x1, x0, [sp, #FRAME_PSTATE]
    mrs     x2, esr_el1
    mrs     x3, far_el1
    stp     x2, x3, [sp, #FRAME_ERROR]
    /* From here on an FIQ may arrive, but not inside another. */
    cmp     x0, #TRAP_ENTRY_FIQ
    b.eq    1f
    tbnz    x1, #6, 1f
    msr     daifclr, #1
1:  mov     x0, sp
    bl      trap_enter
    msr     daifset, #3
    ldr     x1, [sp, #FRAME_PSTATE]
    msr     spsr_el1, x1
    ldp     x30, x1, [sp, #240]
    msr     elr_el1, x1
    EACH_PAIR ldp
    ldp     x0, x1, [sp], #FRAME_BYTES
    eret

    .section .note.GNU-stack, "", %progbits
