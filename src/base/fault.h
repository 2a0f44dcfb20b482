/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores that may fault, for assembly that survives it. A file that defines RECOVERS as 1
 * gets a row in section carry_faults for each; with 0 the same text has none, and faults as usual.
 *
 *     CARRY_LOAD 0, vmovdqu (%rsi), %ymm0
 *     CARRY_STORE 0, vmovdqu %ymm0, (%rdi)
 *     CARRY_BYTES 0, rep movsb
 *
 * When one of them faults, whoever handles faults looks for the instruction in the rows
 * (carry_fault_find()) and goes on at the label .Lload_faulted, .Lstore_faulted or .Lbytes_faulted
 * of the file, with all else as it was, but rax = page + done:
 *
 * page  the start of the page of 4,096 bytes that could not be reached; CARRY_NO_ADDRESS, the
 *       lowest address that is none, where the CPU does not say; or -4096 if nobody knows
 * done  the first operand: how many bytes from rdi on are copied already. Pointers advance once for
 *       many vectors, and pages may be taken away at any instruction, so neither the pointers nor
 *       the page tell that. CARRY_DONE() says so many bytes; CARRY_DONE_END() as many, or all but
 *       the last few units (the second operand of CARRY_RECOVER), whichever is more; either with
 *       CARRY_DONE_R8: or all before the address in r8, whichever is more
 */
/* clang-format off */
#ifndef CARRY_BASE_FAULT_H
#define CARRY_BASE_FAULT_H

#include "base/fault_rows.h"
#include "base/fault_table.h"

#define CARRY_DONE_BITS             9
#define CARRY_DONE(bytes)           (bytes)
#define CARRY_DONE_END(bytes, last) ((bytes) | (last) << CARRY_DONE_BITS)
#define CARRY_DONE_LAST             3
#define CARRY_DONE_R8_BIT           11
#define CARRY_DONE_R8               (1 << CARRY_DONE_R8_BIT)

.macro CARRY_FAULT_ROW recovery, done, instruction:vararg
#if RECOVERS
.Lmay_fault_\@:
    \instruction
    CARRY_FAULT_ENTRY .Lmay_fault_\@, \recovery, \done
#else
    \instruction
#endif
.endm

/* register = the larger one, signed, of it and `other` */
.macro CARRY_AT_LEAST register, other
    cmpq    \other, \register
    cmovlq  \other, \register
.endm

/*
 * The end of a copy that survives: those labels, for kernels in which, whenever something may
 * fault, [rsi, rsi + rdx) is to go to [rdi, rdi + rdx), what stood before it is copied, and nothing
 * behind the bytes that are `done` is written. So what can still be copied are the bytes from there
 * up to the page that faults. They are copied one by one: if they fault, it is on the other side,
 * or the page has come or gone meanwhile. Returns rax = the bytes left, rdx = -1.
 *
 * `unit` is what CARRY_DONE_END() counts by; `clean` leaves the upper halves of vectors clean.
 * Clobbers: rcx, rsi, rdi, r8 to r10, flags
 */
.macro CARRY_RECOVER unit, clean:vararg
#if RECOVERS
.Lload_faulted:
    movq    %rsi, %r9
    jmp     .Lfaulted
.Lstore_faulted:
    movq    %rdi, %r9
.Lfaulted:
    \clean
    movl    %eax, %ecx
    andl    $(1 << CARRY_DONE_BITS) - 1, %ecx
    movl    %eax, %r10d
    shrl    $CARRY_DONE_BITS, %r10d
    andl    $CARRY_DONE_LAST, %r10d
    jz      .Lno_end
    imulq   $-(\unit), %r10, %r10
    addq    %rdx, %r10
    CARRY_AT_LEAST %rcx, %r10
.Lno_end:
    btl     $CARRY_DONE_R8_BIT, %eax
    jnc     .Ldone_known
    subq    %rdi, %r8
    CARRY_AT_LEAST %rcx, %r8
.Ldone_known:
    cmpq    %rdx, %rcx
    cmovaq  %rdx, %rcx
    addq    %rcx, %rsi
    addq    %rcx, %rdi
    addq    %rcx, %r9
    subq    %rcx, %rdx
    andq    $-4096, %rax
    xorl    %ecx, %ecx
    subq    %r9, %rax
    cmovaq  %rax, %rcx
    cmpq    %rdx, %rcx
    cmovaq  %rdx, %rcx
    subq    %rcx, %rdx
    CARRY_BYTES 0, rep movsb
    xorl    %eax, %eax
    CARRY_RECOVER_BYTES
#endif
.endm

/* The end of that, and of copies that do nothing else: what is left are rcx bytes and rdx more. */
.macro CARRY_RECOVER_BYTES
#if RECOVERS
.Lbytes_faulted:
    addq    %rcx, %rdx
    btl     $CARRY_DONE_R8_BIT, %eax
    jnc     .Lleft_known
    xorl    %ecx, %ecx
    subq    %rdi, %r8
    CARRY_AT_LEAST %rcx, %r8
    subq    %rcx, %rdx
.Lleft_known:
    movq    %rdx, %rax
    orq     $-1, %rdx
    ret
#endif
.endm

#endif
