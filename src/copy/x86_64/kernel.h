/* SPDX-License-Identifier: MIT */
/*
 * What the x86-64 kernels of `copy` share. Each stands in one file, <name>.S, which defines NAME
 * and is assembled three times: as it is, with RECOVERS set to 1 by the file try_<name>.S that
 * includes it, and with MOVES set to 1 by move_<name>.S. All do
 *
 *     dst[i] = src[i]    for i from 0 to size - 1
 *
 * void carry_copy_<name>(void *dst, const void *src, size_t size);
 * size_t carry_copy_try_<name>(void *dst, const void *src, size_t size);
 * void carry_copy_move_<name>(void *dst, const void *src, size_t size);
 *
 * and the second returns how many bytes it has left: 0, or those from the first one on that it
 * could not load or store. Bytes before that one are copied, it and those behind it are untouched.
 * The ranges of the third may overlap.
 *
 * In:       rdi dst, rsi src, rdx size
 * Out:      eax 0, or rax the bytes left, in a surviving kernel
 *
 * Whenever a load or a store may fault, the first two keep to what CARRY_RECOVER asks for
 * (base/fault.h).
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

#include "base/fault.h"

#if RECOVERS
#define COPY_PREFIX carry_copy_try_
#elif MOVES
#define COPY_PREFIX carry_copy_move_
#else
#define COPY_PREFIX carry_copy_
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

/* Copies what is left by rep movsb. Spoils rcx. */
.macro COPY_BYTES done
    movq %rdx, %rcx
#if RECOVERS
    xorl %edx, %edx                     /* left beyond those of rcx */
#endif
    CARRY_BYTES \done, rep movsb
.endm

#endif
