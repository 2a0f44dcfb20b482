/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * eax = 0, or a negative error; then 1 if something faults inside the frame
 *
 * int carry_fault_enter(struct carry_fault_frame *frame)
 *
 * Saves what functions keep for their callers, for carry_ucontext_resume().
 *
 * In:       rdi frame
 * Out:      eax
 * Clobbers: as carry_fault_push(), which this ends in
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
    leaq    8(%rsp), %rax                       /* as after the return */
    movq    %rax, 0x38(%rdi)
    movq    (%rsp), %rax
    movq    %rax, 0x40(%rdi)
    jmp     carry_fault_push
CARRY_END carry_fault_enter

CARRY_NOTES
