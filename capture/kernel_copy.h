/* SPDX-License-Identifier: MIT */
/* Has the operating-system kernel clone, copy and write regular files. */
#ifndef CARRY_CAPTURE_SRC_KERNEL_COPY_H
#define CARRY_CAPTURE_SRC_KERNEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks whether a file is in a local file system that clones. */
bool carry_kernel_clones(int descriptor);

/* Makes the file `to` a clone of the file `from`. Returns false if that is not possible. */
bool carry_kernel_clone(int from, int to);

/* Copies at most `size` bytes between two files, whose positions stay. Returns the number of copied
   bytes, 0 at the end, or a negative errno. */
int64_t carry_kernel_copy(int from, uint64_t from_offset, int to, uint64_t to_offset, size_t size);

/* Writes all bytes at an offset. Returns 0 or a negative errno. */
int carry_kernel_write(int to, uint64_t offset, const void *bytes, size_t size);

#endif
