/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * eax = 0, or a negative error; 1 at the second return, after a fault inside the frame
 *
 * int carry_fault_enter(struct carry_fault_frame *frame)
 *
 * Saves the registers that functions preserve, for carry_fault_resume.
 *
 * In:       rdi frame
 * Out:      eax
 * Clobbers: what carry_fault_push() clobbers, to which this function jumps
 */
    .text
    .globl carry_fault_enter
    .type carry_fault_enter, @function
    .balign 16
carry_fault_enter:
    .cfi_startproc
    endbr64
    movq    %rbx, 0x08(%rdi)
    movq    %rbp, 0x10(%rdi)
    movq    %r12, 0x18(%rdi)
    movq    %r13, 0x20(%rdi)
    movq    %r14, 0x28(%rdi)
    movq    %r15, 0x30(%rdi)
    leaq    8(%rsp), %rax                       /* the value of rsp after the return */
    movq    %rax, 0x38(%rdi)
    movq    (%rsp), %rax
    movq    %rax, 0x40(%rdi)
    jmp     carry_fault_push
CARRY_END carry_fault_enter

/*
 * eax = 1, returned by the carry_fault_enter() that saved the registers
 *
 * No code calls this function: the fault handler makes the interrupted thread continue here, see
 * carry_fault_unwind(). The jump at the end needs no notrack: compilers put a landing pad after
 * calls that return twice.
 *
 * In:       rax frame
 * Out:      eax
 * Clobbers: rdx; registers that were not saved have the values of the fault
 */
CARRY_FUNCTION carry_fault_resume
    .cfi_undefined rip
    cld                                         /* the ABI demands it; DF may be set at the fault */
    movq    0x08(%rax), %rbx
    movq    0x10(%rax), %rbp
    movq    0x18(%rax), %r12
    movq    0x20(%rax), %r13
    movq    0x28(%rax), %r14
    movq    0x30(%rax), %r15
    movq    0x38(%rax), %rsp
    movq    0x40(%rax), %rdx
    movl    $1, %eax
    jmp     *%rdx
CARRY_END carry_fault_resume

CARRY_NOTES
