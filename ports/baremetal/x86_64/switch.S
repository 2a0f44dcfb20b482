/* SPDX-License-Identifier: MIT */
/*
 * void thread_switch(void **from, void *to)
 *
 * Suspends a kernel thread on its stack, whose pointer goes to *from, and resumes the one at `to`.
 * General registers alone: carry_context_switch() uses vector registers, and those are of the
 * thread's user code here.
 *
 * In:       rdi from, rsi to
 * Clobbers: what calls may change
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

/* The first thing that a thread runs: the function in rbx, with the argument in rbp. */
    .globl thread_start
thread_start:
    movq    %rbp, %rdi
    call    *%rbx
    ud2

    .section .note.GNU-stack, "", @progbits
