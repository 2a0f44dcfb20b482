/* SPDX-License-Identifier: MIT */
/*
 * The portable kernel, for both byte orders. It adds 32-bit words to a 64-bit accumulator, which
 * loses no carry within 16 GiB; more than 1 GiB is summed in parts.
 *
 * The sum and the copy are compiled from the same code. In the sum, `to` is the constant NULL:
 * nothing is copied. Words are loaded as a whole, because assembling them from bytes in memory
 * stalls.
 */
#include "sum/sum_internal.h"

#define PART_BYTES ((size_t)1 << 30)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Returns the word at p + at, and copies it unless `to` is NULL. */
ALWAYS_INLINE uint64_t take_32_bits(unsigned char *to, const unsigned char *p, size_t at) {
    uint32_t word;
    __builtin_memcpy(&word, p + at, sizeof word);
    if (to)
        __builtin_memcpy(to + at, &word, sizeof word);
    return word;
}

/* Returns the one or two bytes (`size`) at p + at, padded with zero, and copies them unless `to` is
 * NULL. */
ALWAYS_INLINE uint64_t take_16_bits(unsigned char *to, const unsigned char *p, size_t at,
                                    size_t size) {
    uint16_t word = 0;
    __builtin_memcpy(&word, p + at, size);
    if (to)
        __builtin_memcpy(to + at, &word, size);
    return word;
}

ALWAYS_INLINE uint64_t sum_part(unsigned char *restrict to, const unsigned char *restrict p,
                                size_t size, uint64_t sum) {
    uint64_t other = 0; /* a second chain, so that additions overlap */
    size_t at = 0;
    for (; size - at >= 16; at += 16) {
        sum += take_32_bits(to, p, at) + take_32_bits(to, p, at + 4);
        other += take_32_bits(to, p, at + 8) + take_32_bits(to, p, at + 12);
    }
    for (; size - at >= 4; at += 4)
        sum += take_32_bits(to, p, at);
    if (size & 2)
        sum += take_16_bits(to, p, at, 2);
    if (size & 1)
        sum += take_16_bits(to, p, size - 1, 1);
    return sum + other;
}

uint32_t carry_sum_generic(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    for (; size > PART_BYTES; p += PART_BYTES, size -= PART_BYTES)
        sum = carry_sum_fold64(sum_part(NULL, p, PART_BYTES, sum));
    return carry_sum_fold64(sum_part(NULL, p, size, sum));
}

uint32_t carry_sum_copy_generic(void *dst, const void *src, size_t size, uint32_t sum) {
    unsigned char *to = dst;
    const unsigned char *p = src;
    for (; size > PART_BYTES; to += PART_BYTES, p += PART_BYTES, size -= PART_BYTES)
        sum = carry_sum_fold64(sum_part(to, p, PART_BYTES, sum));
    return carry_sum_fold64(sum_part(to, p, size, sum));
}
