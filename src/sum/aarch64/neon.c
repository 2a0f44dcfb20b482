/* SPDX-License-Identifier: MIT */
/*
 * uint32_t carry_sum_neon(const void *data, size_t size, uint32_t sum);
 * uint32_t carry_sum_copy_neon(void *dst, const void *src, size_t size, uint32_t sum);
 *
 * sum + the 16-bit words of data: vpadal adds neighbouring words to 32-bit lanes, two words of each
 * vector to a lane. The four lanes of an accumulator hold the sum of PART_BYTES without a carry;
 * parts are added with end-around carry. The last size % 16 bytes, which start at an even offset,
 * are summed by the portable kernel.
 *
 * The sum and the copy are compiled from the same code. In the sum, `to` is the constant NULL:
 * nothing is copied.
 */
#include <arm_neon.h>

#include "sum/sum_internal.h"

#define BLOCK_BYTES 64
#define PART_BYTES  0x20000 /* 2^17 bytes, 2^16 words below 2^16: less than 2^32 in all lanes */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Returns words + the vector at p + at, and copies the vector unless `to` is NULL. */
ALWAYS_INLINE uint32x4_t add_vector(uint32x4_t words, uint8_t *to, const uint8_t *p, size_t at) {
    uint8x16_t bytes = vld1q_u8(p + at);
    if (to)
        vst1q_u8(to + at, bytes);
    return vpadalq_u16(words, vreinterpretq_u16_u8(bytes));
}

ALWAYS_INLINE uint32_t sum_neon_part(uint8_t *restrict to, const uint8_t *restrict p, size_t size) {
    uint32x4_t a = vdupq_n_u32(0), b = a, c = a, d = a;
    size_t at = 0;
    for (; size - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
        a = add_vector(a, to, p, at);
        b = add_vector(b, to, p, at + 16);
        c = add_vector(c, to, p, at + 32);
        d = add_vector(d, to, p, at + 48);
    }
    for (; size - at >= 16; at += 16)
        a = add_vector(a, to, p, at);
    return vaddvq_u32(vaddq_u32(vaddq_u32(a, b), vaddq_u32(c, d)));
}

static size_t part_size(size_t size) {
    return size < PART_BYTES ? size & ~(size_t)15 : PART_BYTES;
}

uint32_t carry_sum_neon(const void *data, size_t size, uint32_t sum) {
    const uint8_t *p = data;
    while (size >= 16) {
        size_t part = part_size(size);
        sum = carry_sum_fold64((uint64_t)sum + sum_neon_part(NULL, p, part));
        p += part;
        size -= part;
    }
    return carry_sum_generic(p, size, sum);
}

uint32_t carry_sum_copy_neon(void *dst, const void *src, size_t size, uint32_t sum) {
    uint8_t *to = dst;
    const uint8_t *p = src;
    while (size >= 16) {
        size_t part = part_size(size);
        sum = carry_sum_fold64((uint64_t)sum + sum_neon_part(to, p, part));
        to += part;
        p += part;
        size -= part;
    }
    return carry_sum_copy_generic(to, p, size, sum);
}
