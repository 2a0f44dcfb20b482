/* SPDX-License-Identifier: MIT */
/*
 * void thread_switch(void **from, void *to)
 *
 * Suspends a kernel thread on its stack, stores its stack pointer to *from, and resumes the thread
 * at `to`. Switches general registers only: <carry/section.h> switches the vector registers, some
 * of which carry_context_switch() would use.
 *
 * In:       x0 from, x1 to
 * Clobbers: the registers that calls may change
 */
    .text
    .globl thread_switch
thread_switch:
    stp     x19, x20, [sp, #-96]!
    stp     x21, x22, [sp, #16]
    stp     x23, x24, [sp, #32]
    stp     x25, x26, [sp, #48]
    stp     x27, x28, [sp, #64]
    stp     x29, x30, [sp, #80]
    mov     x2, sp
    str     x2, [x0]
    mov     sp, x1
    ldp     x21, x22, [sp, #16]
    ldp     x23, x24, [sp, #32]
    ldp     x25, x26, [sp, #48]
    ldp     x27, x28, [sp, #64]
    ldp     x29, x30, [sp, #80]
    ldp     x19, x20, [sp], #96
    ret

/* Begins a thread: calls the function in x19 with the argument in x20. */
    .globl thread_start
thread_start:
    mov     x0, x20
    blr     x19
    brk     #2

    .section .note.GNU-stack, "", %progbits
