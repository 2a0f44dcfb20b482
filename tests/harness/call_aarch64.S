/* SPDX-License-Identifier: MIT */
/*
 * void call_aarch64(struct frame *frame, call_fn *fn);
 *
 * Loads the stack pointer and the registers from the frame, calls fn, and stores the registers in
 * the frame after fn returns (AAPCS64, section 6.1). fn may have changed every register, even sp,
 * so the address of the frame is kept in memory.
 */
#include "harness/call_aarch64.h"

    .local call_frame
    .comm call_frame, 8, 8

    .text
    .globl call_aarch64
    .hidden call_aarch64
    .type call_aarch64, %function
    .balign 16
call_aarch64:
    stp x29, x30, [sp, #-176]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    adrp x9, call_frame
    str x0, [x9, :lo12:call_frame]
    mov x17, x1
    mov x18, x0                         /* platform register: free on Linux, not set by kernels */
    mov x9, sp
    str x9, [x18, #FRAME_CALLER_STACK]
    mrs x9, fpcr
    str x9, [x18, #FRAME_FPCR]

    add x9, x18, #FRAME_GARBAGE
    ldp q0, q1, [x9], #32
    ldp q2, q3, [x9], #32
    ldp q4, q5, [x9], #32
    ldp q6, q7, [x9], #32
    ldp q16, q17, [x9], #32
    ldp q18, q19, [x9], #32
    ldp q20, q21, [x9], #32
    ldp q22, q23, [x9], #32
    ldp q24, q25, [x9], #32
    ldp q26, q27, [x9], #32
    ldp q28, q29, [x9], #32
    ldp q30, q31, [x9]
    add x9, x18, #FRAME_SAVED_D
    ldp d8, d9, [x9]
    ldp d10, d11, [x9, #16]
    ldp d12, d13, [x9, #32]
    ldp d14, d15, [x9, #48]
    add x9, x18, #FRAME_SAVED
    ldp x19, x20, [x9]
    ldp x21, x22, [x9, #16]
    ldp x23, x24, [x9, #32]
    ldp x25, x26, [x9, #48]
    ldp x27, x28, [x9, #64]
    ldr x29, [x9, #80]
    ldr x9, [x18, #FRAME_STACK]
    mov sp, x9
    ldp x0, x1, [x18, #FRAME_ARGUMENTS]
    ldr x2, [x18, #FRAME_ARGUMENTS + 16]
    ldp x3, x4, [x18, #FRAME_VOLATILE]
    ldp x5, x6, [x18, #FRAME_VOLATILE + 16]
    ldp x7, x8, [x18, #FRAME_VOLATILE + 32]
    ldp x9, x10, [x18, #FRAME_VOLATILE + 48]
    ldp x11, x12, [x18, #FRAME_VOLATILE + 64]
    ldp x13, x14, [x18, #FRAME_VOLATILE + 80]
    ldp x15, x16, [x18, #FRAME_VOLATILE + 96]
    blr x17

    adrp x9, call_frame
    ldr x9, [x9, :lo12:call_frame]
    str x0, [x9, #FRAME_RESULT]
    mov x10, sp
    str x10, [x9, #FRAME_STACK_AFTER]
    add x10, x9, #FRAME_AFTER
    stp x19, x20, [x10]
    stp x21, x22, [x10, #16]
    stp x23, x24, [x10, #32]
    stp x25, x26, [x10, #48]
    stp x27, x28, [x10, #64]
    str x29, [x10, #80]
    add x10, x9, #FRAME_AFTER_D
    stp d8, d9, [x10]
    stp d10, d11, [x10, #16]
    stp d12, d13, [x10, #32]
    stp d14, d15, [x10, #48]
    mrs x10, fpcr
    str x10, [x9, #FRAME_FPCR + 8]
    ldr x10, [x9, #FRAME_FPCR]
    msr fpcr, x10
    ldr x10, [x9, #FRAME_CALLER_STACK]
    mov sp, x10

    ldp d14, d15, [sp, #144]
    ldp d12, d13, [sp, #128]
    ldp d10, d11, [sp, #112]
    ldp d8, d9, [sp, #96]
    ldp x27, x28, [sp, #80]
    ldp x25, x26, [sp, #64]
    ldp x23, x24, [sp, #48]
    ldp x21, x22, [sp, #32]
    ldp x19, x20, [sp, #16]
    ldp x29, x30, [sp], #176
    ret
    .size call_aarch64, . - call_aarch64

    .section .note.GNU-stack, "", %progbits
