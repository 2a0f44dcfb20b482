/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_rep: the CPU's own copy. Equation, prototypes, registers: kernel.h.
 *
 * Clobbers: rcx, rdx, rsi, rdi, flags; when it recovers, rax and r8 too.
 */
#ifndef NAME
#define NAME rep
#endif
#include "copy/x86_64/kernel.h"

CARRY_FUNCTION KERNEL
    COPY_BYTES
    COPY_RETURN
    CARRY_RECOVER
CARRY_END KERNEL

CARRY_NOTES
