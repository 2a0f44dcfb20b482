/* SPDX-License-Identifier: MIT */
#include "mutants/mutants.h"

#include <fenv.h>
#include <string.h>

#include <carry/fault.h>

#define STEP 32

uint32_t broken_sum_copy_stride(void *dst, const void *src, size_t size, uint32_t sum) {
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

uint32_t broken_sum_copy_whole_word(void *dst, const void *src, size_t size, uint32_t sum) {
    unsigned char *end = (unsigned char *)dst + size;
    memcpy(dst, src, size);
    if (size % 8)
        memset(end, 0, 8 - size % 8);
    return broken_not(src, size, sum);
}

static uint32_t copy_rightly(void *dst, const void *src, size_t size, uint32_t sum) {
    if (size)
        memcpy(dst, src, size);
    return broken_not(src, size, sum);
}

uint32_t broken_sum_copy_reads_words(void *dst, const void *src, size_t size, uint32_t sum) {
    if (size % 8)
        (void)*((const volatile unsigned char *)src + (size | 7));
    return copy_rightly(dst, src, size, sum);
}

uint32_t broken_sum_copy_fails_at_128k(void *dst, const void *src, size_t size, uint32_t sum) {
    uint32_t right = copy_rightly(dst, src, size, sum);
    return size > 1 << 17 ? broken_not(src, size % (1 << 17), sum) : right;
}

uint32_t broken_sum_copy_keeps_parity(void *dst, const void *src, size_t size, uint32_t sum) {
    static bool odd;
    sum = carry_sum_combine(sum, copy_rightly(dst, src, size, 0), odd);
    odd ^= size & 1;
    return sum;
}

uint32_t broken_sum_copy_rounds_up(void *dst, const void *src, size_t size, uint32_t sum) {
    fesetround(FE_UPWARD);
    return copy_rightly(dst, src, size, sum);
}

static size_t smaller_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Assumes that source and target are cut at the same places. */
size_t broken_sum_copy_iov_drops(const struct carry_slice *dst, size_t dst_count,
                                 const struct carry_slice *src, size_t src_count, uint32_t *sum) {
    size_t done = 0;
    for (size_t i = 0; i < smaller_size(dst_count, src_count); i++) {
        size_t part = smaller_size(dst[i].size, src[i].size);
        *sum =
            carry_sum_combine(*sum, copy_rightly((void *)dst[i].data, src[i].data, part, 0), done);
        done += part;
    }
    return done;
}

/* Copies correctly, but sums the chunks as if each started at an even offset. */
size_t broken_sum_copy_iov_odd_chunk(const struct carry_slice *dst, size_t dst_count,
                                     const struct carry_slice *src, size_t src_count,
                                     uint32_t *sum) {
    uint32_t right = *sum;
    size_t done = carry_sum_copy_iov(dst, dst_count, src, src_count, &right);
    size_t left = done;
    for (; left; src++) {
        size_t part = smaller_size(left, src->size);
        if (part)
            *sum = broken_not(src->data, part, *sum);
        left -= part;
    }
    return done;
}

size_t broken_sum_copy_try_words(void *dst, const void *src, size_t size, uint32_t *sum) {
    size_t left = carry_copy_try(dst, src, size);
    *sum = broken_not(src, left ? 0 : size, *sum);
    return smaller_size((left + 7) & ~(size_t)7, size);
}

size_t broken_sum_copy_try_behind(void *dst, const void *src, size_t size, uint32_t *sum) {
    size_t left = carry_copy_try(dst, src, size);
    unsigned char *first = (unsigned char *)dst + (size - left);
    if (left)
        carry_write_try(first, "", 1);
    *sum = broken_not(src, left ? 0 : size, *sum);
    return left;
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
