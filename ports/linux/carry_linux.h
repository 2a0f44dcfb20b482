/* SPDX-License-Identifier: MIT */
/*
 * The functions that carry.ko exports to other modules: functions of Linux, implemented by the
 * kernels of libcarry. They use vector registers from the size at which that is faster, where Linux
 * allows it (irq_fpu_usable(), may_use_simd()).
 */
#ifndef CARRY_LINUX_H
#define CARRY_LINUX_H

#include <linux/types.h>

/* Sum and copy like csum_partial() and csum_partial_copy_nocheck(). Context: any. */
__wsum carry_csum_partial(const void *data, int size, __wsum sum);
__wsum carry_csum_partial_copy_nocheck(const void *src, void *dst, int size);

/*
 * Copy like copy_from_user() and copy_to_user(). Both return the exact number of bytes that were
 * not copied; carry_copy_from_user() zeroes these bytes of `dst`. Context: process; may sleep.
 */
unsigned long carry_copy_from_user(void *dst, const void __user *src, unsigned long size);
unsigned long carry_copy_to_user(void __user *dst, const void *src, unsigned long size);

/*
 * Copies and sums like csum_and_copy_from_user(): returns 0 if any byte was not copied. Context:
 * process; may sleep.
 */
__wsum carry_csum_and_copy_from_user(const void __user *src, void *dst, int size);

/*
 * Copies like copy_from_kernel_nofault(), but returns the number of bytes that were not copied.
 * Copies none if any byte belongs to a process or to the vsyscall page. Context: any.
 */
size_t carry_copy_from_kernel_nofault(void *dst, const void *src, size_t size);

#endif
