/* SPDX-License-Identifier: MIT */
/*
 * Macros for the loads and stores of assembly code that survives faults. In a file that defines
 * RECOVERS as 1, each of these instructions has a row in section carry_faults. In a file that
 * defines it as 0, there are no rows, and the instructions fault as usual.
 *
 *     CARRY_LOAD 0, vmovdqu (%rsi), %ymm0
 *     CARRY_STORE 0, vmovdqu %ymm0, (%rdi)
 *     CARRY_BYTES 0, movb %r8b, (%rdi)
 *
 * When such an instruction faults, the fault handler finds its row (carry_fault_find()), and
 * execution continues at the label .Lload_faulted, .Lstore_faulted or .Lbytes_faulted of the file.
 * All registers are unchanged except rax = page + done:
 *
 * page  the start of the page of 4,096 bytes that could not be accessed; CARRY_NO_ADDRESS, the
 *       lowest address that is not canonical, if the CPU does not report the address; or -4096 if
 *       the page is unknown
 * done  the first operand: how many bytes from rdi on are copied already. Pointers advance once for
 *       many vectors, and pages may be unmapped at any instruction, so neither the pointers nor the
 *       page determine it. CARRY_DONE() states a number of bytes; CARRY_DONE_END() the larger of
 *       this number and all but the last few units (`unit` of CARRY_RECOVER). With CARRY_DONE_R8,
 *       either is at least all bytes before the address in r8
 *
 * Assumption about the CPU: if a load or a store faults, no register and no byte of memory has
 * changed. For accesses to two pages, Intel guarantees this up to 8 bytes, but not for vectors (SDM
 * vol. 3, 9.1.1). Tests let every store fault at each of its bytes. Nothing is assumed of `rep
 * movsb`, and no copy that survives faults may use it: if pages are unmapped while it runs, it may
 * have stored up to 63 bytes more than rcx shows at a fault (Emerald Rapids).
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

/* register = max(register, other), signed */
.macro CARRY_AT_LEAST register, other
    cmpq    \other, \register
    cmovlq  \other, \register
.endm

/*
 * Ends a copy that survives faults: defines the labels above. Requires, at each access that may
 * fault: [rsi, rsi + rdx) must still be copied to [rdi, rdi + rdx), all bytes before these ranges
 * are copied, and no byte after the first `done` bytes is written. So the bytes from there up to
 * the faulting page can still be copied. They are copied one by one. If one of them faults, the
 * copy ends there: the other side faults, a page was mapped or unmapped after the fault, or the
 * page is unknown.
 *
 * Accesses fault at most one page after the bytes that are done. So once a whole page of bytes is
 * copied, the page that faulted is mapped again, and words are copied; if a word faults, its bytes
 * are tried again. Returns rax = the bytes left, rdx = -1.
 *
 * `unit` is the unit of CARRY_DONE_END(); `clean` is an instruction that cleans the upper halves of
 * vector registers.
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
