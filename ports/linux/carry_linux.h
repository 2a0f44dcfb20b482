/* SPDX-License-Identifier: MIT */
/*
 * What carry.ko offers to other modules: functions of Linux, by the kernels of libcarry. Vectors
 * are used from a size on that pays, and where irq_fpu_usable() allows it.
 */
#ifndef CARRY_LINUX_H
#define CARRY_LINUX_H

#include <linux/types.h>

/* As csum_partial() and csum_partial_copy_nocheck(). Context: any. */
__wsum carry_csum_partial(const void *data, int size, __wsum sum);
__wsum carry_csum_partial_copy_nocheck(const void *src, void *dst, int size);

/*
 * As copy_from_user() and copy_to_user(): returns how many bytes could not be copied, exactly, and
 * the first zeroes those. Context: process; may sleep.
 */
unsigned long carry_copy_from_user(void *dst, const void __user *src, unsigned long size);
unsigned long carry_copy_to_user(void __user *dst, const void *src, unsigned long size);

/* As csum_and_copy_from_user(): 0 if not all could be copied. Context: process; may sleep. */
__wsum carry_csum_and_copy_from_user(const void __user *src, void *dst, int size);

/*
 * As copy_from_kernel_nofault(), but returns how many bytes could not be copied: all of them if
 * one of them is a process's, or of the page of vsyscalls. Context: any.
 */
size_t carry_copy_from_kernel_nofault(void *dst, const void *src, size_t size);

#endif
