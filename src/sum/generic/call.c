/* SPDX-License-Identifier: MIT */
/* Calls of the chosen kernels on architectures without sites. */
#include <carry/crc.h>

#include "sum/sum_choice.h"
#include "sum/sum_internal.h"

uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum) {
    return carry_call(carry_sum)(data, size, sum);
}

uint32_t carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum) {
    return carry_call(carry_sum_copy)(dst, src, size, sum);
}

uint32_t carry_crc32c(const void *data, size_t size, uint32_t crc) {
    return carry_call(carry_crc32c)(data, size, crc);
}
