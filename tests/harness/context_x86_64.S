/* SPDX-License-Identifier: MIT */
/*
 * void context_probe_call(struct context_probe *probe);
 * void context_probe_spin(struct context_probe *probe);
 *
 * Before they return, both reset vectors, x87 and their control words to the values of a new
 * process.
 */
#include "base/asm.h"
#include "harness/context_x86_64.h"

#define BEFORE (PROBE_BEFORE + STATE_REGISTERS)
#define SPINS  20000

    .section .rodata
    .balign 64
.Linitial:
    .short  0x37f
    .fill   22, 1, 0
    .long   0x1f80
    .fill   548, 1, 0

/* Loads all components of the probe rdi from an image. */
.macro LOAD image:vararg
    movl    PROBE_COMPONENTS(%rdi), %eax
    movl    PROBE_COMPONENTS + 4(%rdi), %edx
    testl   %eax, %eax
    jz      1f
    xrstor64 \image
    jmp     2f
1:  fxrstor64 \image
2:
.endm

.macro SAVE
    movl    PROBE_COMPONENTS(%rdi), %eax
    movl    PROBE_COMPONENTS + 4(%rdi), %edx
    testl   %eax, %eax
    jz      1f
    xsave64 PROBE_AFTER + STATE_IMAGE(%rdi)
    jmp     2f
1:  fxsave64 PROBE_AFTER + STATE_IMAGE(%rdi)
2:
.endm

.macro ENTER
    .irp register, rbx, rbp, r12, r13, r14, r15
    pushq   %\register
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset \register, 0
    .endr
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    subq    $128, %rsp
    .cfi_adjust_cfa_offset 128
    LOAD    PROBE_BEFORE + STATE_IMAGE(%rdi)
.endm

/* rdi = the probe */
.macro LEAVE
    cld
    LOAD    .Linitial(%rip)
    addq    $136, %rsp
    .cfi_adjust_cfa_offset -136
    .irp register, r15, r14, r13, r12, rbp, rbx
    popq    %\register
    .cfi_adjust_cfa_offset -8
    .cfi_restore \register
    .endr
    ret
.endm

CARRY_FUNCTION context_probe_call
    ENTER
    movq    BEFORE + 8(%rdi), %rbx
    movq    BEFORE + 48(%rdi), %rbp
    .irp number, 12, 13, 14, 15
    movq    BEFORE + 56 + 8 * (\number - 8)(%rdi), %r\number
    .endr
    movq    PROBE_FUNCTION(%rdi), %rax
    movq    PROBE_ARGUMENTS + 8(%rdi), %rsi
    movq    PROBE_ARGUMENTS + 16(%rdi), %rdx
    movq    PROBE_ARGUMENTS(%rdi), %rdi
    call    *%rax
    movq    128(%rsp), %rdi
    movq    %rax, PROBE_RESULT(%rdi)
    movq    %rbx, PROBE_AFTER + 8(%rdi)
    movq    %rbp, PROBE_AFTER + 48(%rdi)
    .irp number, 12, 13, 14, 15
    movq    %r\number, PROBE_AFTER + 56 + 8 * (\number - 8)(%rdi)
    .endr
    pushfq
    popq    PROBE_AFTER + STATE_FLAGS(%rdi)
    SAVE
    LEAVE
CARRY_END context_probe_call

/*
 * Between the loads and the stores, no instruction changes flags, and only `loop` changes a
 * register.
 */
CARRY_FUNCTION context_probe_spin
    ENTER
    pushq   PROBE_BEFORE + STATE_FLAGS(%rdi)
    popfq
    .irp slot, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movq    PROBE_BEFORE + STATE_RED_ZONE + 8 * \slot(%rdi), %rax
    movq    %rax, 8 * \slot - 128(%rsp)
    .endr
    movq    BEFORE(%rdi), %rax
    movq    BEFORE + 8(%rdi), %rbx
    movq    BEFORE + 24(%rdi), %rdx
    movq    BEFORE + 32(%rdi), %rsi
    movq    BEFORE + 48(%rdi), %rbp
    .irp number, 8, 9, 10, 11, 12, 13, 14, 15
    movq    BEFORE + 56 + 8 * (\number - 8)(%rdi), %r\number
    .endr
    movq    BEFORE + 40(%rdi), %rdi
    movl    $SPINS, %ecx
1:  loop    1b

    .set    slot, 0
    .irp register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    movq    %\register, 8 * slot(%rsp)
    .set    slot, slot + 1
    .endr
    movq    128(%rsp), %rdi
    .irp slot, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movq    8 * \slot - 128(%rsp), %rax
    movq    %rax, PROBE_AFTER + STATE_RED_ZONE + 8 * \slot(%rdi)
    .endr
    pushfq
    popq    PROBE_AFTER + STATE_FLAGS(%rdi)
    .irp slot, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    movq    8 * \slot(%rsp), %rax
    movq    %rax, PROBE_AFTER + 8 * \slot(%rdi)
    .endr
    SAVE
    LEAVE
CARRY_END context_probe_spin

CARRY_NOTES
