/* SPDX-License-Identifier: MIT */
/* AArch64 has no exception table yet. */
#include "sum/generic/try.c"

struct carry_sum_tried carry_sum_copy_try_neon(void *dst, const void *src, size_t size,
                                               uint32_t sum) {
    return carry_sum_copy_try_generic(dst, src, size, sum);
}
