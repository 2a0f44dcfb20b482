/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_rep: rep movsb. Equation, prototypes, registers: kernel.h. This instruction copies
 * single bytes if the ranges overlap nearly completely, or if it goes downwards: so a move of
 * overlapping ranges calls the portable move. The form that recovers is try_words.h.
 *
 * Clobbers: rcx, rdx, rsi, rdi, flags; a move clobbers what any function in C may clobber
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
