/* SPDX-License-Identifier: MIT */
/*
 * void thread_switch(void **from, void *to)
 *
 * Suspends a kernel thread on its stack, stores its stack pointer to *from, and resumes the thread
 * at `to`. Switches general registers only: <carry/section.h> switches the vector registers, some
 * of which carry_context_switch() would use.
 *
 * In:       rdi from, rsi to
 * Clobbers: the registers that calls may change
 */
    .text
    .globl thread_switch
thread_switch:
    .irp reg, rbp, rbx, r12, r13, r14, r15
    pushq   %\reg
    .endr
    movq    %rsp, (%rdi)
    movq    %rsi, %rsp
    .irp reg, r15, r14, r13, r12, rbx, rbp
    popq    %\reg
    .endr
    ret

/* Begins a thread: calls the function in rbx with the argument in rbp. */
    .globl thread_start
thread_start:
    movq    %rbp, %rdi
    call    *%rbx
    ud2

    .section .note.GNU-stack, "", @progbits
