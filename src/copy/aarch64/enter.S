/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"

/*
 * Stores or loads the registers that functions preserve (AAPCS64, 6.1), except sp, at offsets of
 * struct carry_fault_frame. An operating-system kernel is compiled for general registers only: its
 * functions preserve no vectors, because these belong to a thread. A load of d8 would clear the
 * upper half of v8.
 */
.macro KEPT pair, frame
    \pair   x19, x20, [\frame, #0x08]
    \pair   x21, x22, [\frame, #0x18]
    \pair   x23, x24, [\frame, #0x28]
    \pair   x25, x26, [\frame, #0x38]
    \pair   x27, x28, [\frame, #0x48]
    \pair   x29, x30, [\frame, #0x58]
#ifdef __ARM_NEON
    \pair   d8, d9, [\frame, #0x70]
    \pair   d10, d11, [\frame, #0x80]
    \pair   d12, d13, [\frame, #0x90]
    \pair   d14, d15, [\frame, #0xa0]
#endif
.endm

#define FRAME_SP 0x68

/*
 * w0 = 0, or a negative error; 1 at the second return, after a fault inside the frame
 *
 * int carry_fault_enter(struct carry_fault_frame *frame)
 *
 * Saves the registers that functions preserve, for carry_fault_resume.
 *
 * In:       x0 frame
 * Out:      w0
 * Clobbers: what carry_fault_push() clobbers, to which this function jumps
 */
    .text
    .globl carry_fault_enter
    .type carry_fault_enter, %function
    .balign 16
carry_fault_enter:
    .cfi_startproc
    hint    #34                                 /* bti c */
    KEPT    stp, x0
    mov     x9, sp
    str     x9, [x0, #FRAME_SP]
    b       carry_fault_push
CARRY_END carry_fault_enter

/*
 * w0 = 1, returned by the carry_fault_enter() that saved the registers
 *
 * No code calls this function: the fault handler makes the interrupted thread continue here, see
 * carry_fault_unwind().
 *
 * In:       x16 frame, + 1 in streaming mode (SME): this function ends that mode, because functions
 *           never return in it
 * Out:      w0
 * Clobbers: x9; registers that were not saved have the values of the fault
 */
CARRY_FUNCTION carry_fault_resume
    .cfi_undefined x30
    tbz     x16, #0, .Lnot_streaming
    sub     x16, x16, #1
    .inst   0xd503427f                          /* smstop sm */
.Lnot_streaming:
    KEPT    ldp, x16
    ldr     x9, [x16, #FRAME_SP]
    mov     sp, x9
    mov     w0, #1
    ret
CARRY_END carry_fault_resume

CARRY_NOTES
