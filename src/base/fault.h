/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores that may fault, for assembly that survives it. A file that defines RECOVERS as 1
 * gets a row in section carry_faults for each; with 0 the same text has none, and faults as usual.
 *
 *     CARRY_LOAD vmovdqu (%rsi), %ymm0
 *     CARRY_STORE vmovdqu %ymm0, (%rdi)
 *     CARRY_BYTES rep movsb
 *
 * When one of them faults, whoever handles faults looks for the instruction in the rows
 * (carry_fault_find()) and goes on at the label .Lload_faulted, .Lstore_faulted or .Lbytes_faulted
 * of the file, with all else as it was, but rax = the start of the page of 4,096 bytes that could
 * not be reached; CARRY_NO_ADDRESS, the lowest address that is none, where the CPU does not say; or
 * UINTPTR_MAX if nobody knows.
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_H
#define CARRY_BASE_FAULT_H

#include "base/fault_table.h"

.macro CARRY_FAULT_ROW recovery, instruction:vararg
#if RECOVERS
.Lmay_fault_\@:
    \instruction
    CARRY_FAULT_ENTRY .Lmay_fault_\@, \recovery
#else
    \instruction
#endif
.endm

.macro CARRY_LOAD instruction:vararg
    CARRY_FAULT_ROW .Lload_faulted, \instruction
.endm

.macro CARRY_STORE instruction:vararg
    CARRY_FAULT_ROW .Lstore_faulted, \instruction
.endm

.macro CARRY_BYTES instruction:vararg
    CARRY_FAULT_ROW .Lbytes_faulted, \instruction
.endm

/*
 * The end of a copy that survives: those labels, for kernels in which, whenever something may
 * fault, [rsi, rsi + rdx) is to go to [rdi, rdi + rdx), what stood before it is copied, and nothing
 * is written to a page behind the one that faults. So what can still be copied are the bytes up to
 * that page. They are copied one by one: if they fault, it is on the other side. Returns rax = the
 * bytes left.
 *
 * `clean` leaves the upper halves of vectors clean. Clobbers: rcx, rdx, rsi, rdi, r8, flags
 */
.macro CARRY_RECOVER clean:vararg
#if RECOVERS
.Lload_faulted:
    movq    %rsi, %r8
    jmp     .Lfaulted
.Lstore_faulted:
    movq    %rdi, %r8
.Lfaulted:
    \clean
    xorl    %ecx, %ecx
    subq    %r8, %rax
    cmovaq  %rax, %rcx
    cmpq    %rdx, %rcx
    cmovaq  %rdx, %rcx
    subq    %rcx, %rdx
    CARRY_BYTES rep movsb
    CARRY_RECOVER_BYTES
#endif
.endm

/* The end of that, and of copies that do nothing else: what is left are rcx bytes and rdx more. */
.macro CARRY_RECOVER_BYTES
#if RECOVERS
.Lbytes_faulted:
    leaq    (%rdx, %rcx), %rax
    ret
#endif
.endm

#endif
