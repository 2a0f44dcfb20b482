/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"
#include "xstate/switch.h"

/* struct frame of frame.c. FPCR itself has no bit 63. */
#define FRAME_FIBERS_BIT 63
#define FRAME_D    96
#define FRAME_FPCR 160
#define FRAME_SIZE 176

/*
 * Stores or loads the registers that calls preserve. The context continues at the address in x30.
 */
.macro FRAME pair
    \pair   x19, x20, [sp]
    \pair   x21, x22, [sp, 16]
    \pair   x23, x24, [sp, 32]
    \pair   x25, x26, [sp, 48]
    \pair   x27, x28, [sp, 64]
    \pair   x29, x30, [sp, 80]
    \pair   d8, d9, [sp, FRAME_D]
    \pair   d10, d11, [sp, FRAME_D + 16]
    \pair   d12, d13, [sp, FRAME_D + 32]
    \pair   d14, d15, [sp, FRAME_D + 48]
.endm

/*
 * x0 = the value that the switch back to `from` passes
 *
 * uintptr_t carry_context_switch(struct carry_context *from, struct carry_context *to,
 *                                uintptr_t value)
 *
 * In:       x0 from, x1 to, x2 value
 * Out:      x0; the registers that calls preserve have the values of `to`
 * Clobbers: x3 to x5, flags; if switches are reported, all registers that calls may change
 */
    .text
    .globl carry_context_switch
    .type carry_context_switch, %function
    .balign 64
carry_context_switch:
    .cfi_startproc
    hint    34                                  /* bti c */
    sub     sp, sp, FRAME_SIZE
    .cfi_adjust_cfa_offset FRAME_SIZE
    FRAME   stp
    .set    slot, -FRAME_SIZE
    .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    .cfi_offset x\number, slot
    .set    slot, slot + 8
    .endr
    .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
    .cfi_offset d\number, slot
    .set    slot, slot + 8
    .endr
    mrs     x3, fpcr
    str     x3, [sp, FRAME_FPCR]
    mov     x4, sp
    str     x4, [x0, CONTEXT_STACK_POINTER]
    ldr     x4, [x1, CONTEXT_STACK_POINTER]
    ldr     x5, [x4, FRAME_FPCR]
    cmp     x3, x5
    b.eq    1f
    tbnz    x5, FRAME_FIBERS_BIT, 3f
2:  msr     fpcr, x5                            /* waits for all earlier instructions */
1:  mov     sp, x4
    FRAME   ldp
    add     sp, sp, FRAME_SIZE
    .cfi_adjust_cfa_offset -FRAME_SIZE
    .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    .cfi_restore x\number
    .endr
    .irp    number, 8, 9, 10, 11, 12, 13, 14, 15
    .cfi_restore d\number
    .endr
    mov     x0, x2
    ret

    /* Reports the switch to a sanitizer, because the frame of the other context is marked. Marks
     * the frame of this context too. */
    .cfi_adjust_cfa_offset FRAME_SIZE
    .set    slot, -FRAME_SIZE
    .irp    number, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    .cfi_offset x\number, slot
    .set    slot, slot + 8
    .endr
3:  orr     x6, x3, 1 << FRAME_FIBERS_BIT
    str     x6, [sp, FRAME_FPCR]
    stp     x1, x2, [sp, -16]!
    .cfi_adjust_cfa_offset 16
    ldr     w2, [x0, CONTEXT_FLAGS]
    ubfx    w2, w2, 8, 1                        /* FLAG_FINISHED */
    bl      carry_host_fiber_switch
    ldp     x1, x2, [sp], 16
    .cfi_adjust_cfa_offset -16
    ldr     x4, [x1, CONTEXT_STACK_POINTER]
    ldr     x5, [x4, FRAME_FPCR]
    and     x5, x5, ~(1 << FRAME_FIBERS_BIT)
    mrs     x3, fpcr
    cmp     x3, x5
    b.ne    2b
    b       1b
    .cfi_endproc
    .size carry_context_switch, . - carry_context_switch

/*
 * never returns
 *
 * The start and the end of a new context. The first switch to the context returns here. There is no
 * caller, as the CFI states. The first instruction is for unwinders, which look at the instruction
 * before a return address.
 *
 * In:  x0 value, x19 entry, x20 argument, x21 the context
 */
    .globl carry_context_start
    .hidden carry_context_start
    .type carry_context_start, %function
    .balign 16
    .cfi_startproc
    .cfi_undefined x30
    nop
carry_context_start:
    mov     x1, x0
    mov     x0, x20
    blr     x19
    cbz     x0, 1f
    /* Leaves the context, which has ended. `from` of this switch is a temporary structure on this
     * stack. */
    str     xzr, [x21, CONTEXT_STACK_POINTER]
    sub     sp, sp, 32
    .cfi_adjust_cfa_offset 32
    mov     w2, FLAG_FINISHED
    str     w2, [sp, CONTEXT_FLAGS]
    mov     x1, x0
    mov     x0, sp
    mov     x2, 0
    bl      carry_context_switch
1:  brk     1
    .cfi_endproc
    .size carry_context_start, . - carry_context_start

CARRY_NOTES
