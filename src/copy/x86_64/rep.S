/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_rep: the CPU's own copy. Equation, prototypes, registers: kernel.h.
 *
 * Clobbers: rcx, rdx, rsi, rdi, flags; when it recovers, r8 and r9 too.
 */
#ifndef NAME
#define NAME rep
#endif
#include "copy/x86_64/kernel.h"

CARRY_FUNCTION KERNEL
    COPY_BYTES
    COPY_RETURN
    COPY_RECOVERY
CARRY_END KERNEL

CARRY_NOTES
