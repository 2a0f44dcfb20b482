/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores that may fault, for assembly that survives it. A file that defines RECOVERS as 1
 * gets a row in section carry_faults for each; with 0 the same text has none, and faults as usual.
 *
 *     CARRY_LOAD 0, vmovdqu (%rsi), %ymm0
 *     CARRY_STORE 0, vmovdqu %ymm0, (%rdi)
 *     CARRY_BYTES 0, movb %r8b, (%rdi)
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
 *
 * What is assumed of the CPU: if a load or a store faults, no register and no byte of memory has
 * changed. Where an access lies on two pages, Intel promises that of up to 8 bytes, not of vectors
 * (SDM vol. 3, 9.1.1). Tests let every store fault at each of its bytes. Nothing is assumed of
 * `rep movsb`, and no copy that survives may use it: if pages vanish meanwhile, it may have stored
 * up to 63 bytes more than rcx says at a fault (Emerald Rapids).
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

#define CARRY_SINGLE_BYTES          4096

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
 * or the page has come or gone meanwhile, or nobody knows the page, and the copy ends there. No
 * access faults more than a page behind what is done. So if a page's bytes do not fault, it has
 * come back, and words follow, of which one that faults is tried by bytes again.
 * Returns rax = the bytes left, rdx = -1.
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
.Lsingle:
    movl    $CARRY_SINGLE_BYTES, %r9d
    cmpq    %r9, %rcx
    cmovbq  %rcx, %r9
    testl   %r9d, %r9d
    jz      .Lbytes_faulted
.Lbyte:
    CARRY_BYTES 0, movzbl (%rsi), %r8d
    CARRY_BYTES 0, movb %r8b, (%rdi)
    incq    %rsi
    incq    %rdi
    decq    %rcx
    decl    %r9d
    jnz     .Lbyte
.Lword:
    subq    $8, %rcx
    jb      .Lfew
    CARRY_FAULT_ROW .Lfew, 0, movq (%rsi), %r8
    CARRY_FAULT_ROW .Lfew, 0, movq %r8, (%rdi)
    addq    $8, %rsi
    addq    $8, %rdi
    jmp     .Lword
.Lfew:
    addq    $8, %rcx
    jmp     .Lsingle
.Lbytes_faulted:
    leaq    (%rcx, %rdx), %rax
    orq     $-1, %rdx
    ret
#endif
.endm

#endif
