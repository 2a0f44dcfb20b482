/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_rep: the CPU's own copy. Equation, prototypes, registers: kernel.h. It takes bytes one
 * by one where ranges overlap by nearly all, and downwards: moves leave ranges that overlap to C.
 *
 * Clobbers: rcx, rdx, rsi, rdi, flags; when it recovers, rax too; moves, as C does.
 */
#ifndef NAME
#define NAME rep
#endif
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
    COPY_BYTES 0
    COPY_RETURN
    CARRY_RECOVER_BYTES
CARRY_END KERNEL

CARRY_NOTES
