/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The three forms of each kernel, assembled from the same code:
 *
 *     uint32_t carry_sum_<KERNEL>(const void *data, size_t size, uint32_t sum)
 *
 * with COPIES 1
 *
 *     uint32_t carry_sum_copy_<KERNEL>(void *dst, const void *src, size_t size, uint32_t sum)
 *
 * and with RECOVERS 1 too, with the same arguments,
 *
 *     struct carry_sum_tried carry_sum_copy_try_<KERNEL>(...)
 *
 * A kernel's file defines KERNEL and is the first form; copy_<KERNEL>.S and copy_try_<KERNEL>.S
 * define the others and include it.
 *
 * The form that recovers survives a fault at any byte of src or dst. It returns rax = the bytes
 * left, and rdx = the sum, or -1 after a fault. For this, the copying forms meet the requirements
 * of CARRY_RECOVER (base/fault_asm.h).
 *
 * In:       DATA, SIZE, and the seed in the last argument, which TAKE_ARGUMENTS puts in SUM; the
 *           upper half of SUM64 is undefined before EXTEND_SUM
 * Out:      eax; or rax and rdx
 */
#ifndef COPIES
#define COPIES 0
#endif
#ifndef RECOVERS
#define RECOVERS 0
#endif

#include "base/asm.h"
#include "base/fault_asm.h"

#define FORM_OF(prefix, kernel) prefix##kernel
#define FORM(prefix, kernel)    FORM_OF(prefix, kernel)
#if RECOVERS
#define FUNCTION FORM(carry_sum_copy_try_, KERNEL)
#elif COPIES
#define FUNCTION FORM(carry_sum_copy_, KERNEL)
#else
#define FUNCTION FORM(carry_sum_, KERNEL)
#endif

#if COPIES
#define DATA   %rsi
#define DATA32 %esi
#define DATA8  %sil
#define SIZE   %rdx
#define SIZE32 %edx
#define SUM    %r11d
#define SUM64  %r11
#else
#define DATA   %rdi
#define DATA32 %edi
#define DATA8  %dil
#define SIZE   %rsi
#define SIZE32 %esi
#define SUM    %edx
#define SUM64  %rdx
#endif

.macro TAKE_ARGUMENTS
#if COPIES
    movl %ecx, SUM
#endif
.endm

/* SUM64 = SUM */
.macro EXTEND_SUM
#if !COPIES
    movl SUM, SUM
#endif
.endm

/* Moves the pointers past bytes that are done. */
.macro ADVANCE bytes:vararg
    subq $-(\bytes), %rdi
#if COPIES
    subq $-(\bytes), %rsi
#endif
    addq $-(\bytes), SIZE
.endm

.macro ADVANCE_BY register
    addq \register, %rdi
#if COPIES
    addq \register, %rsi
#endif
    subq \register, SIZE
.endm

.macro RETURN_SUM
#if RECOVERS
    movl %eax, %edx
    xorl %eax, %eax
#endif
    ret
.endm
