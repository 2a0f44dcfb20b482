/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "unit/hook/registers_x86_64.h"

/*
 * void call_with(int which, const struct callee_registers *in, struct callee_registers *out)
 */
    .text
    .globl call_with
    .type call_with, @function
call_with:
    .cfi_startproc
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    push    %rdx
    mov     %edi, %r11d
    mov     %rsi, %rax
    VECTORS load, %rax
    mov     56(%rax), %r10
    mov     64(%rax), %rbx
    mov     72(%rax), %rbp
    mov     80(%rax), %r12
    mov     88(%rax), %r13
    mov     96(%rax), %r14
    mov     104(%rax), %r15
    mov     (%rax), %rdi
    mov     8(%rax), %rsi
    mov     16(%rax), %rdx
    mov     24(%rax), %rcx
    mov     32(%rax), %r8
    mov     40(%rax), %r9
    mov     48(%rax), %rax
    test    %r11d, %r11d
    jnz     1f
    call    callee_registers@PLT
    jmp     2f
1:  call    entry_registers
2:  mov     (%rsp), %r11
    GENERAL store, %r11, rdi, rsi, rdx, rcx, r8, r9, rax, r10, rbx, rbp, r12, r13, r14, r15
    VECTORS store, %r11
    pop     %rdx
    pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret
    .cfi_endproc
    .size call_with, . - call_with

/*
 * uint64_t call_at_end(void *end, uintptr_t stub)
 */
    .globl call_at_end
    .type call_at_end, @function
call_at_end:
    .cfi_startproc
    push    %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    mov     %rsp, %rbp
    .cfi_def_cfa_register rbp
    mov     %rdi, %rsp
    mov     %rsi, %rax
    .irp n, 12, 11, 10, 9, 8, 7
    push    $\n
    .endr
    mov     $1, %edi
    mov     $2, %esi
    mov     $3, %edx
    mov     $4, %ecx
    mov     $5, %r8d
    mov     $6, %r9d
    call    *%rax
    leave
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size call_at_end, . - call_at_end

/* A patchable entry as GCC emits it. */
    .globl entry_registers
    .type entry_registers, @function
entry_registers:
    .cfi_startproc
    endbr64
.Lentry:
    .fill 5, 1, 0x90
    TAKE_REGISTERS
    .cfi_endproc
    .size entry_registers, . - entry_registers

    .section __patchable_function_entries, "awo", @progbits, .text
    .balign 8
    .quad .Lentry

    .section .note.GNU-stack, "", @progbits
