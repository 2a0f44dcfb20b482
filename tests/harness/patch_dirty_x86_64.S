/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm.h"

/*
 * rax = rsp % 16
 *
 * uint64_t patch_dirty(uint64_t vectors)
 *
 * Leaves garbage wherever a function may: in rcx, rdx, rsi, rdi, r8 to r11, in xmm0 to xmm15, and
 * in 512 bytes below the stack pointer. If vectors is 1, also leaves garbage in zmm16 to zmm31 and
 * k1 to k7. Stores 16 aligned bytes, like code of compilers that rely on an aligned stack.
 */
CARRY_FUNCTION patch_dirty
    movq    %rsp, %r11
    andl    $15, %r11d
    movl    %edi, %r10d
    movq    $-1, %rax
    subq    $512, %rsp
    movq    %rsp, %rdi
    movl    $64, %ecx
    rep stosq
    addq    $512, %rsp
    pcmpeqd %xmm0, %xmm0
    .irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqa  %xmm0, %xmm\number
    .endr
    movaps  %xmm0, -24(%rsp)
    testl   %r10d, %r10d
    jz      1f
    .irp number, 1, 2, 3, 4, 5, 6, 7
    kxnorw  %k\number, %k\number, %k\number
    .endr
    .irp number, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vpternlogd $255, %zmm\number, %zmm\number, %zmm\number
    .endr
1:  movq    %r11, %rax
    movq    $-1, %rcx
    .irp register, rdx, rsi, rdi, r8, r9, r10, r11
    movq    %rcx, %\register
    .endr
    cmpq    $1, %rcx
    ret
CARRY_END patch_dirty

CARRY_NOTES
