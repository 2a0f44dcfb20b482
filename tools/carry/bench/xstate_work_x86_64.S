/* SPDX-License-Identifier: MIT */
/* clang-format off */
/* The callback and target of thunks, and a thunk like glibc's: only SSE code. */
#include "common/asm_x86_64.h"

/* Runs a few instructions of SSE code: the callback of thunks. */
FUNCTION bench_sse_callback
    movaps  %xmm8, %xmm9
    addps   %xmm9, %xmm9
    xorps   %xmm9, %xmm9
    ret
END bench_sse_callback

/* The target of all thunks. */
FUNCTION bench_target
    ret
END bench_target

/*
 * void bench_thunk_xsavec(void)
 *
 * Does the same as glibc's _dl_runtime_resolve_xsavec: saves the integer arguments, and the
 * components SSE, AVX, BNDREGS, OPMASK, ZMM_HI256 and HI16_ZMM, on the stack; calls the callback;
 * restores all; jumps to the target.
 */
FUNCTION bench_thunk_xsavec
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    movq    %rsp, %rbx
    .cfi_def_cfa_register rbx
    subq    $2752, %rsp                         /* components, at most 2,688 bytes; arguments */
    andq    $-64, %rsp
    movq    %rax, 0x00(%rsp)
    movq    %rcx, 0x08(%rsp)
    movq    %rdx, 0x10(%rsp)
    movq    %rsi, 0x18(%rsp)
    movq    %rdi, 0x20(%rsp)
    movq    %r8, 0x28(%rsp)
    movq    %r9, 0x30(%rsp)
    movl    $0xee, %eax
    xorl    %edx, %edx
    .irp offset, 0x240, 0x248, 0x250, 0x258, 0x260, 0x268, 0x270, 0x278
    movq    %rdx, \offset(%rsp)
    .endr
    xsavec  0x40(%rsp)
    call    bench_sse_callback
    movl    $0xee, %eax
    xorl    %edx, %edx
    xrstor  0x40(%rsp)
    movq    0x00(%rsp), %rax
    movq    0x08(%rsp), %rcx
    movq    0x10(%rsp), %rdx
    movq    0x18(%rsp), %rsi
    movq    0x20(%rsp), %rdi
    movq    0x28(%rsp), %r8
    movq    0x30(%rsp), %r9
    movq    %rbx, %rsp
    .cfi_def_cfa_register rsp
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    jmp     bench_target
END bench_thunk_xsavec

/* void bench_calls(void (*function)(void), size_t calls) */
FUNCTION bench_calls
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq    %rdi, %rbx
    movq    %rsi, %rbp
    xorl    %eax, %eax
    .balign 16
1:  call    *%rbx
    decq    %rbp
    jnz     1b
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbp
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    ret
END bench_calls

NOTES
