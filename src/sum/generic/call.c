/* SPDX-License-Identifier: MIT */
/* Calls of the chosen kernels, where there are no sites. */
#include "sum/choice.h"

#include <carry/crc.h>

uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum) {
    return carry_call(carry_sum)(data, size, sum);
}

uint32_t carry_crc32c(const void *data, size_t size, uint32_t crc) {
    return carry_call(carry_crc32c)(data, size, crc);
}
