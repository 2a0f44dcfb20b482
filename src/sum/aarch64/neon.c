/* SPDX-License-Identifier: MIT */
/*
 * uint32_t carry_sum_neon(const void *data, size_t size, uint32_t sum);
 *
 * sum + the 16-bit words of data: vpadal adds neighbouring words into 32-bit lanes. A lane takes
 * two words of each vector, so the four lanes of an accumulator hold PART_BYTES without a carry;
 * parts are added with end-around carry. The last size % 16 bytes go through the portable kernel:
 * they start at an even offset.
 */
#include <arm_neon.h>

#include "sum/sum.h"

#define BLOCK_BYTES 64
#define PART_BYTES  0x20000 /* 2^17 bytes, 2^16 words below 2^16: less than 2^32 in all lanes */

static uint32_t sum_part(const uint8_t *p, size_t size) {
    uint32x4_t a = vdupq_n_u32(0), b = a, c = a, d = a;
    for (; size >= BLOCK_BYTES; p += BLOCK_BYTES, size -= BLOCK_BYTES) {
        a = vpadalq_u16(a, vreinterpretq_u16_u8(vld1q_u8(p)));
        b = vpadalq_u16(b, vreinterpretq_u16_u8(vld1q_u8(p + 16)));
        c = vpadalq_u16(c, vreinterpretq_u16_u8(vld1q_u8(p + 32)));
        d = vpadalq_u16(d, vreinterpretq_u16_u8(vld1q_u8(p + 48)));
    }
    for (; size >= 16; p += 16, size -= 16)
        a = vpadalq_u16(a, vreinterpretq_u16_u8(vld1q_u8(p)));
    return vaddvq_u32(vaddq_u32(vaddq_u32(a, b), vaddq_u32(c, d)));
}

uint32_t carry_sum_neon(const void *data, size_t size, uint32_t sum) {
    const uint8_t *p = data;
    while (size >= 16) {
        size_t part = size < PART_BYTES ? size & ~(size_t)15 : PART_BYTES;
        sum = carry_sum_fold64((uint64_t)sum + sum_part(p, part));
        p += part;
        size -= part;
    }
    return carry_sum_generic(p, size, sum);
}
