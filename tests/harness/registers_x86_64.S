/* SPDX-License-Identifier: MIT */
/* clang-format off */
/* Loads and stores all registers. Their places in memory are addressed without a base register. */
#include "base/asm.h"
#include "harness/registers.h"

    .local caller_stack
    .comm caller_stack, 8, 8
    .local scratch
    .comm scratch, 16, 8
    .local caller_area
    .comm caller_area, REGISTERS_BYTES, 64

/* Clobbers rax, rdx. */
.macro MASK
    movl    registers_mask(%rip), %eax
    movl    registers_mask + 4(%rip), %edx
.endm

.macro SAVE_AREA area:vararg
    MASK
    cmpb    $0, registers_by_xsave(%rip)
    je      1f
    xsave64 \area
    jmp     2f
1:  fxsave64 \area
2:
.endm

.macro LOAD_AREA area:vararg
    MASK
    cmpb    $0, registers_by_xsave(%rip)
    je      1f
    xrstor64 \area
    jmp     2f
1:  fxrstor64 \area
2:
.endm

/* Stores all general-purpose registers. */
.macro SAVE_GPR registers
    movq    %rax, \registers + 8 * 0(%rip)
    movq    %rcx, \registers + 8 * 1(%rip)
    movq    %rdx, \registers + 8 * 2(%rip)
    movq    %rbx, \registers + 8 * 3(%rip)
    movq    %rsp, \registers + 8 * 4(%rip)
    movq    %rbp, \registers + 8 * 5(%rip)
    movq    %rsi, \registers + 8 * 6(%rip)
    movq    %rdi, \registers + 8 * 7(%rip)
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    movq    %r\n, \registers + 8 * \n(%rip)
    .endr
.endm

.macro LOAD_CLOBBERED_GPR registers
    movq    \registers + 8 * 0(%rip), %rax
    movq    \registers + 8 * 1(%rip), %rcx
    movq    \registers + 8 * 2(%rip), %rdx
    movq    \registers + 8 * 6(%rip), %rsi
    movq    \registers + 8 * 7(%rip), %rdi
    .irp n, 8, 9, 10, 11
    movq    \registers + 8 * \n(%rip), %r\n
    .endr
.endm

.macro LOAD_KEPT_GPR registers
    movq    \registers + 8 * 3(%rip), %rbx
    movq    \registers + 8 * 5(%rip), %rbp
    .irp n, 12, 13, 14, 15
    movq    \registers + 8 * \n(%rip), %r\n
    .endr
.endm

/*
 * registers_out = registers after registers_function(registers_in)
 *
 * void registers_run(void)
 */
CARRY_FUNCTION registers_run
    pushq   %rbx
    pushq   %rbp
    pushq   %r12
    pushq   %r13
    pushq   %r14
    pushq   %r15
    movq    %rsp, caller_stack(%rip)
    SAVE_AREA caller_area(%rip)
    LOAD_AREA registers_in + REGISTERS_AREA(%rip)
    pushq   registers_in + REGISTERS_FLAGS(%rip)
    popfq                                       /* no move below changes the flags */
    LOAD_KEPT_GPR registers_in
    LOAD_CLOBBERED_GPR registers_in
    movq    registers_in + 8 * 4(%rip), %rsp
    call    *registers_function(%rip)

    SAVE_GPR registers_out
    movq    caller_stack(%rip), %rsp
    pushfq
    popq    registers_out + REGISTERS_FLAGS(%rip)
    cld
    SAVE_AREA registers_out + REGISTERS_AREA(%rip)
    LOAD_AREA caller_area(%rip)
    popq    %r15
    popq    %r14
    popq    %r13
    popq    %r12
    popq    %rbp
    popq    %rbx
    ret
CARRY_END registers_run

/*
 * registers_seen = registers and stack; registers = registers_given
 *
 * Can be called with any arguments. Changes the registers that a function may change.
 */
CARRY_FUNCTION registers_target
    SAVE_GPR registers_seen
    .set offset, 0
    .rept STACK_WORDS
    movq    offset(%rsp), %rax
    movq    %rax, registers_seen + REGISTERS_WORDS + offset(%rip)
    .set offset, offset + 8
    .endr
    SAVE_AREA registers_seen + REGISTERS_AREA(%rip)
    LOAD_AREA registers_given + REGISTERS_AREA(%rip)
    LOAD_CLOBBERED_GPR registers_given
    ret
CARRY_END registers_target

/*
 * void registers_spoil(void)
 *
 * Changes the registers that a function may change, and leaves vectors in use.
 */
CARRY_FUNCTION registers_spoil
    LOAD_AREA registers_garbage + REGISTERS_AREA(%rip)
    LOAD_CLOBBERED_GPR registers_garbage
    ret
CARRY_END registers_spoil

/*
 * to->area = registers
 *
 * void registers_observe(struct registers *to)
 */
CARRY_FUNCTION registers_observe
    SAVE_AREA REGISTERS_AREA(%rdi)
    ret
CARRY_END registers_observe

CARRY_NOTES
