/* SPDX-License-Identifier: MIT */
/* Implements the functions of carry_linux.h, which the module exports. */
#include <linux/export.h>
#include <linux/kasan-checks.h>
#include <linux/string.h>
#include <linux/thread_info.h>
#include <linux/uaccess.h>

#include <net/checksum.h>

#include "carry_linux.h"
#include "carry_module.h"

__wsum carry_csum_partial(const void *data, int size, __wsum sum) {
    return (__force __wsum)carry_sum_call(data, size, (__force u32)sum);
}
EXPORT_SYMBOL_GPL(carry_csum_partial);

__wsum carry_csum_partial_copy_nocheck(const void *src, void *dst, int size) {
    return (__force __wsum)carry_sum_copy(dst, src, size, 0);
}
EXPORT_SYMBOL_GPL(carry_csum_partial_copy_nocheck);

/*
 * Returns whether `data` may be a process's memory. Stops speculation: the CPU must not read at an
 * address for which it has only predicted that the check passes.
 */
static bool may_access(const void __user *data, size_t size) {
    if (!access_ok(data, size))
        return false;
    machine_stop_guesses();
    return true;
}

unsigned long carry_copy_from_user(void *dst, const void __user *src, unsigned long size) {
    size_t left = size;

    might_fault();
    check_object_size(dst, size, false);
    kasan_check_write(dst, size);
    if (may_access(src, size))
        left = carry_copy_try_any(dst, (__force const void *)src, size, true);
    memset(dst + size - left, 0, left);
    return left;
}
EXPORT_SYMBOL_GPL(carry_copy_from_user);

unsigned long carry_copy_to_user(void __user *dst, const void *src, unsigned long size) {
    might_fault();
    check_object_size(src, size, true);
    kasan_check_read(src, size);
    return may_access(dst, size) ? carry_copy_try_any((__force void *)dst, src, size, true) : size;
}
EXPORT_SYMBOL_GPL(carry_copy_to_user);

/* Copies and sums, starting from all ones: so 0 is never the sum of copied bytes, and can report a
 * failure. */
__wsum carry_csum_and_copy_from_user(const void __user *src, void *dst, int size) {
    struct carry_sum_tried tried;

    might_fault();
    check_object_size(dst, size, false);
    kasan_check_write(dst, size);
    if (!may_access(src, size))
        return 0;
    tried = carry_sum_copy_try_any(dst, (__force const void *)src, size, ~0u, true);
    if (tried.left)
        return 0;
    /*
     * A byte that faulted may be readable at the second attempt: then everything is copied, but not
     * summed.
     */
    return (__force __wsum)(carry_sum_is_known(&tried) ? (u32)tried.sum
                                                       : carry_sum_call(dst, size, ~0u));
}
EXPORT_SYMBOL_GPL(carry_csum_and_copy_from_user);

size_t carry_copy_from_kernel_nofault(void *dst, const void *src, size_t size) {
    size_t left;

    if (!machine_is_of_kernel(src, size))
        return size;
    pagefault_disable();
    left = carry_copy_try(dst, src, size);
    pagefault_enable();
    return left;
}
EXPORT_SYMBOL_GPL(carry_copy_from_kernel_nofault);
