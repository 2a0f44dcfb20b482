/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_rep: the CPU's own copy. Equation, prototypes, registers: kernel.h. It takes bytes one
 * by one where ranges overlap by nearly all, and downwards: moves leave ranges that overlap to C.
 * The form that recovers is try_words.h.
 *
 * Clobbers: rcx, rdx, rsi, rdi, flags; moves, as C does.
 */
#define NAME rep
#include "copy/x86_64/kernel.h"

CARRY_FUNCTION KERNEL
#if MOVES
    movq %rdi, %rcx
    subq %rsi, %rcx
    cmpq %rdx, %rcx
    jb carry_copy_move_generic
    negq %rcx
    cmpq %rdx, %rcx
    jb carry_copy_move_generic
#endif
    movq %rdx, %rcx
    rep movsb
    ret
CARRY_END KERNEL

CARRY_NOTES
