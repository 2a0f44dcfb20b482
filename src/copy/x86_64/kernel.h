/* SPDX-License-Identifier: MIT */
/*
 * Macros that the x86-64 kernels of `copy` share. Each kernel is one file, <name>.S, which defines
 * NAME and is assembled three times: as it is, with RECOVERS set to 1 by the file try_<name>.S that
 * includes it, and with MOVES set to 1 by move_<name>.S. No form that recovers may use rep movsb
 * (base/fault_asm.h): for kernels that consist only of this instruction, that form is try_words.h.
 * All forms do
 *
 *     dst[i] = src[i]    for i from 0 to size - 1
 *
 * void carry_copy_<name>(void *dst, const void *src, size_t size);
 * size_t carry_copy_try_<name>(void *dst, const void *src, size_t size);
 * void carry_copy_move_<name>(void *dst, const void *src, size_t size);
 *
 * The second function returns how many bytes are left, from the first inaccessible byte on: 0 if
 * there is none. The bytes before that byte are copied, all others are untouched. The ranges of the
 * third function may overlap.
 *
 * In:       rdi dst, rsi src, rdx size
 * Out:      rax the bytes left, in the form that recovers; the other forms return nothing
 *
 * Wherever a load or a store may fault, the first two forms meet the requirements of CARRY_RECOVER
 * (base/fault_asm.h).
 */
/* clang-format off */
#ifndef CARRY_COPY_X86_64_KERNEL_H
#define CARRY_COPY_X86_64_KERNEL_H

#include "base/asm.h"

#ifndef RECOVERS
#define RECOVERS 0
#endif

#ifndef MOVES
#define MOVES 0
#endif

#include "base/fault_asm.h"

#if RECOVERS
#define COPY_PREFIX carry_copy_try_
#define COPY_CALL   carry_copy_try_call
#define COPY_KEY    carry_op_carry_copy_try
#elif MOVES
#define COPY_PREFIX carry_copy_move_
#define COPY_CALL   carry_copy_move
#define COPY_KEY    carry_op_carry_copy_move
#else
#define COPY_PREFIX carry_copy_
#define COPY_CALL   carry_copy
#define COPY_KEY    carry_op_carry_copy
#endif
#define COPY_PASTE(prefix, name)  prefix##name
#define COPY_EXPAND(prefix, name) COPY_PASTE(prefix, name)
#define KERNEL                    COPY_EXPAND(COPY_PREFIX, NAME)

.macro COPY_RETURN
#if RECOVERS
    xorl %eax, %eax
#endif
    ret
.endm

/* Copies \bytes to 2 * \bytes bytes, in two words of \bytes bytes. */
.macro COPY_WORDS move, bytes, first, last
    CARRY_LOAD 0, \move (%rsi), \first
    CARRY_LOAD 0, \move -\bytes(%rsi, %rdx), \last
    CARRY_STORE 0, \move \first, (%rdi)
    CARRY_STORE CARRY_DONE(\bytes), \move \last, -\bytes(%rdi, %rdx)
.endm

/* Copies up to 15 bytes with general registers, and returns. Clobbers: rax, rcx, r8, r9, flags */
.macro COPY_BELOW_16
    cmpl $8, %edx
    jb .Lbelow_8
    COPY_WORDS movq, 8, %rax, %rcx
    COPY_RETURN

.Lbelow_8:
    cmpl $4, %edx
    jb .Lbelow_4
    COPY_WORDS movl, 4, %eax, %ecx
    COPY_RETURN

    /* 1 to 3 bytes: the first, the middle and the last. */
.Lbelow_4:
    testl %edx, %edx
    jz .Lnone
    movl %edx, %ecx
    shrl $1, %ecx
    CARRY_LOAD 0, movzbl (%rsi), %eax
    CARRY_LOAD 0, movzbl (%rsi, %rcx), %r8d
    CARRY_LOAD 0, movzbl -1(%rsi, %rdx), %r9d
    CARRY_STORE 0, movb %al, (%rdi)
    CARRY_STORE CARRY_DONE(1), movb %r8b, (%rdi, %rcx)
    CARRY_STORE CARRY_DONE(2), movb %r9b, -1(%rdi, %rdx)
.Lnone:
    COPY_RETURN
.endm

#endif
