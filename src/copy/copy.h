/* SPDX-License-Identifier: MIT */
/* Inside of `copy`: the kernels' prototypes. */
#ifndef CARRY_COPY_COPY_H
#define CARRY_COPY_COPY_H

#include <carry/copy.h>

#include "base/arch.h"

/* Returns how many bytes were left at the byte that could not be reached; 0 if all were copied. */
typedef size_t carry_copy_try_fn(void *dst, const void *src, size_t size);

#define CARRY_COPY_KERNEL(arch, name, ...)                                                         \
    CARRY_ROWS_##arch(carry_copy_fn carry_copy_##name, carry_copy_move_##name;                     \
                      carry_copy_try_fn carry_copy_try_##name;)
#include "copy/kernels.def"
#undef CARRY_COPY_KERNEL

/*
 * By the surviving form of the chosen kernel, if whoever handles faults keeps to base/fault.h. The
 * forms in C leave surviving to the system.
 */
carry_copy_try_fn carry_copy_try_call;

/* `size` bytes, a multiple of 64, to a multiple of 64, past the caches; then the fence. */
carry_copy_fn carry_copy_lines;

#endif
