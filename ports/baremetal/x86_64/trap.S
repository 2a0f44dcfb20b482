/* SPDX-License-Identifier: MIT */
/*
 * Enters exceptions and interrupts: each entry pushes its vector and all general registers, and
 * calls trap(struct trap_frame *). Vector registers are not saved, because the kernel uses them
 * only in sections.
 */
#include "kernel.h"

/* The vectors that push an error code: #DF, #TS, #NP, #SS, #GP, #PF, #AC, #CP, #VC, #SX (SDM
   vol. 3, table 6-1; AMD APM vol. 2, 8.2). */
#define PUSHES_ERROR 0x60227d00

    .altmacro
    .macro TRAP vector
    .balign 16
    .if \vector >= 32 || !((PUSHES_ERROR >> \vector) & 1)
    pushq   $0
    .endif
    pushq   $\vector
    jmp     trap_common
    .endm

    .text
    .balign 16
    .globl trap_entries
trap_entries:
    .set vector, 0
    .rept TRAP_VECTORS
    TRAP %vector
    .set vector, vector + 1
    .endr

trap_common:
    .irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    pushq   %\reg
    .endr
    movq    %rsp, %rdi
    movq    %rsp, %rbx
    andq    $-16, %rsp
    cld
    call    trap
    movq    %rbx, %rsp
    .irp reg, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
    popq    %\reg
    .endr
    addq    $16, %rsp
    iretq

    .section .note.GNU-stack, "", @progbits
