/* SPDX-License-Identifier: MIT */
/* The prototypes of the kernels of carry_copy(). */
#ifndef CARRY_COPY_COPY_H
#define CARRY_COPY_COPY_H

#include <carry/copy.h>

#include "base/arch.h"

/* Returns how many bytes are left from the first inaccessible one on; 0 if all were copied. */
typedef size_t carry_copy_try_fn(void *dst, const void *src, size_t size);

#define CARRY_COPY_KERNEL(arch, name, ...)                                                         \
    CARRY_ROWS_##arch(carry_copy_fn carry_copy_##name, carry_copy_move_##name;                     \
                      carry_copy_try_fn carry_copy_try_##name;)
#include "copy/kernels.def"
#undef CARRY_COPY_KERNEL

/* Calls the form of the chosen kernel that survives faults. The fault handler must follow
 * base/fault_asm.h, except for forms in C, which let the system copy instead. */
carry_copy_try_fn carry_copy_try_call;

/* Copies. On x86-64, the stores bypass the caches, and a store fence follows them. `size` and the
 * address `dst` must be multiples of 64. */
carry_copy_fn carry_copy_lines;

#endif
