/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/* A stub as hooks make it: sets r11 to the descriptor and jumps to the entry under test. */
CARRY_FUNCTION check_thunk_stub
    leaq    check_thunk_descriptor(%rip), %r11
    jmp     *check_thunk_entry(%rip)
CARRY_END check_thunk_stub

CARRY_FUNCTION check_thunk_stub_any
    pushq   %r11
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r11, 0
    leaq    check_thunk_descriptor(%rip), %r11
    jmp     *check_thunk_entry(%rip)
CARRY_END check_thunk_stub_any

/*
 * *stack_pointer = rsp at the call; executes stub() in single steps
 *
 * void check_thunk_step(const void *stub, uint64_t *stack_pointer)
 */
CARRY_FUNCTION check_thunk_step
    .irp register, rbx, rbp, r12, r13, r14, r15
    pushq   %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
    .endr
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq    %rsp, (%rsi)
    movl    $0x1b, %ebx
    movl    $0x1e, %ebp
    movl    $0x12, %r12d
    movl    $0x13, %r13d
    movl    $0x14, %r14d
    movl    $0x15, %r15d
    pushfq
    .cfi_adjust_cfa_offset 8
    orl     $0x100, (%rsp)                      /* TF */
    popfq
    .cfi_adjust_cfa_offset -8
    call    *%rdi
    .globl check_thunk_step_return
    .hidden check_thunk_step_return
check_thunk_step_return:
    pushfq
    .cfi_adjust_cfa_offset 8
    andl    $~0x100, (%rsp)
    popfq
    .cfi_adjust_cfa_offset -8
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    .irp register, r15, r14, r13, r12, rbp, rbx
    popq    %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endr
    ret
    .globl check_thunk_step_end
    .hidden check_thunk_step_end
check_thunk_step_end:
CARRY_END check_thunk_step

CARRY_NOTES
