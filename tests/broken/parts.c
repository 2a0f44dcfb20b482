/* SPDX-License-Identifier: MIT */
#include "broken/broken.h"

#include <string.h>

#define STEP 32

uint32_t broken_copy_stride(void *dst, const void *src, size_t size, uint32_t sum) {
    unsigned char *to = dst;
    const unsigned char *from = src;
    size_t left = size;
    for (; left >= STEP; left -= STEP) {
        memcpy(to, from, STEP);
        from += STEP;
        to += STEP / 2;
    }
    memcpy(to, from, left);
    return broken_not(src, size, sum);
}

uint32_t broken_copy_whole_word(void *dst, const void *src, size_t size, uint32_t sum) {
    unsigned char *end = (unsigned char *)dst + size;
    memcpy(dst, src, size);
    if (size % 8)
        memset(end, 0, 8 - size % 8);
    return broken_not(src, size, sum);
}

uint32_t broken_iov_odd_chunk(const struct carry_slice *slices, size_t count, size_t skip,
                              size_t size, uint32_t sum) {
    for (size_t i = 0; i < count; i++) {
        size_t skipped = skip < slices[i].size ? skip : slices[i].size;
        size_t left = slices[i].size - skipped;
        size_t part = left < size ? left : size;
        if (part)
            sum = broken_not((const unsigned char *)slices[i].data + skipped, part, sum);
        skip -= skipped;
        size -= part;
    }
    return sum;
}

uint32_t broken_combine_odd(uint32_t a, uint32_t b, size_t offset_of_b) {
    return carry_sum_combine(a, b, offset_of_b & ~(size_t)1);
}

void broken_burst_shared(const struct carry_slice *slices, size_t count, uint32_t *sums) {
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++)
        last = sums[i] =
            broken_not(slices[i].data, slices[i].size, carry_sum_combine(sums[i], last, 0));
}

uint16_t broken_update_1141(uint16_t check, const void *from, const void *to, size_t size) {
    uint32_t added = carry_sum_fold(broken_not(from, size, 0));
    uint32_t removed = carry_sum_finish(broken_not(to, size, 0));
    return carry_sum_fold(check + added + removed);
}
