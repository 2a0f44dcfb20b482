/* SPDX-License-Identifier: MIT */
/* Mutants of kernels that survive faults: right as long as nothing faults. */
#define RECOVERS 1
#include "copy/x86_64/kernel.h"

/* Copies all bytes by rep movsb. Returns how many bytes are left. */
.macro BYTES left:vararg
    movq %rdx, %rcx
    CARRY_FAULT_ROW .Lleft_\@, 0, rep movsb
.Lleft_\@:
    \left
    ret
.endm

/*
 * Loads the first and the last 16 bytes if the size is from 16 to 32, and continues after the
 * macro. Copies other sizes correctly, and returns.
 */
.macro ENDS faulted
    cmpq $16, %rdx
    jb 1f
    cmpq $32, %rdx
    jbe 2f
1:  BYTES movq %rcx, %rax
2:  CARRY_FAULT_ROW \faulted, 0, movdqu (%rsi), %xmm0
    CARRY_FAULT_ROW \faulted, 0, movdqu -16(%rsi, %rdx), %xmm1
.endm

.macro STORE_ENDS faulted
    CARRY_FAULT_ROW \faulted, 0, movdqu %xmm0, (%rdi)
    CARRY_FAULT_ROW \faulted, 0, movdqu %xmm1, -16(%rdi, %rdx)
    xorl %eax, %eax
    ret
.endm

CARRY_FUNCTION broken_try_says_more
    movq %rdx, %rcx
    CARRY_FAULT_ROW .Lsays_more, 0, rep movsb
    xorl %eax, %eax
    ret
.Lsays_more:
    leaq 1(%rcx), %rax
    ret
CARRY_END broken_try_says_more

/* Stores the end of the target before its start. */
CARRY_FUNCTION broken_try_end_first
    ENDS .Lload_faulted
    CARRY_STORE 0, movdqu %xmm1, -16(%rdi, %rdx)
    CARRY_STORE 0, movdqu %xmm0, (%rdi)
    COPY_RETURN
    CARRY_RECOVER 8
CARRY_END broken_try_end_first

/* Computes how many bytes can be copied, but does not copy them. */
CARRY_FUNCTION broken_try_copies_none
    ENDS .Lcopies_none
    STORE_ENDS .Lnone_stored
.Lcopies_none:
    subq %rsi, %rax
    jmp 1f
.Lnone_stored:
    subq %rdi, %rax
1:  xorl %ecx, %ecx
    testq %rax, %rax
    cmovsq %rcx, %rax
    subq %rax, %rdx
    movq %rdx, %rax
    ret
CARRY_END broken_try_copies_none

/* Copies up to the missing page after a fault, and so faults a second time there. */
CARRY_FUNCTION broken_try_two_signals
    ENDS .Ltwo_signals
    STORE_ENDS .Ltwo_signals
.Ltwo_signals:
    BYTES movq %rcx, %rax
CARRY_END broken_try_two_signals

/* Lacks a row in the table: the fault is not recognised. */
CARRY_FUNCTION broken_try_unmarked
    movq %rdx, %rcx
    rep movsb
    xorl %eax, %eax
    ret
CARRY_END broken_try_unmarked

/*
 * Copies by two vectors, and stores both before the pointers advance. A fault at the first vector
 * reports `first` bytes as done, a fault at the second one `second`. Recovers by the last
 * CARRY_RECOVER above.
 */
.macro PAIRS first, second
1:  cmpq $32, %rdx
    jb 2f
    CARRY_LOAD \first, movdqu (%rsi), %xmm0
    CARRY_STORE \first, movdqu %xmm0, (%rdi)
    CARRY_LOAD \second, movdqu 16(%rsi), %xmm0
    CARRY_STORE \second, movdqu %xmm0, 16(%rdi)
    addq $32, %rsi
    addq $32, %rdi
    subq $32, %rdx
    jmp 1b
2:  movq %rdx, %rcx
    xorl %edx, %edx
    CARRY_BYTES 0, rep movsb
    COPY_RETURN
.endm

/* Reports a vector as done before it is stored. */
CARRY_FUNCTION broken_try_says_stored
    PAIRS CARRY_DONE(16), CARRY_DONE(16)
CARRY_END broken_try_says_stored

/* Does not report the first vector as done after it is stored. */
CARRY_FUNCTION broken_try_forgets_stored
    PAIRS 0, 0
CARRY_END broken_try_forgets_stored

/* Uses only the lower 32 bits of the size. */
CARRY_FUNCTION broken_try_cuts_size
    movl %edx, %edx
    BYTES movq %rcx, %rax
CARRY_END broken_try_cuts_size

CARRY_NOTES
