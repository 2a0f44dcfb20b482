/* SPDX-License-Identifier: MIT */
/* Inside of `copy`: the kernels' prototypes. */
#ifndef CARRY_COPY_COPY_H
#define CARRY_COPY_COPY_H

#include <carry/copy.h>

#include "base/arch.h"

/* Returns how many bytes were left at the byte that could not be reached; 0 if all were copied. */
typedef size_t carry_copy_try_fn(void *dst, const void *src, size_t size);

#define CARRY_COPY_KERNEL(arch, name, ...)                                                         \
    CARRY_ROWS_##arch(carry_copy_fn carry_copy_##name; carry_copy_try_fn carry_copy_try_##name;)
#include "copy/kernels.def"
#undef CARRY_COPY_KERNEL

/* By the surviving twin of the chosen kernel. Only where kernels have such twins. */
carry_copy_try_fn carry_copy_try_call;

/* Chooses the surviving twin of a kernel as carry_copy_select() chooses the kernel. */
int carry_copy_try_select(const char *name);

/* `size` bytes, a multiple of 64, to a multiple of 64, past the caches; then the fence. */
carry_copy_fn carry_copy_lines;

#endif
