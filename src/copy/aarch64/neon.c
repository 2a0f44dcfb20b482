/* SPDX-License-Identifier: MIT */
/*
 * void carry_copy_neon(void *dst, const void *src, size_t size);
 *
 * Copies 16 or more bytes by vectors (the last vector may overlap the vector before it), and fewer
 * bytes by the portable kernel.
 */
#include <arm_neon.h>

#include "copy/copy_internal.h"

#define VECTOR_BYTES 16
#define BLOCK_BYTES  64

static void copy_neon_block(uint8_t *to, const uint8_t *from) {
    uint8x16_t a = vld1q_u8(from), b = vld1q_u8(from + 16);
    uint8x16_t c = vld1q_u8(from + 32), d = vld1q_u8(from + 48);
    vst1q_u8(to, a);
    vst1q_u8(to + 16, b);
    vst1q_u8(to + 32, c);
    vst1q_u8(to + 48, d);
}

void carry_copy_neon(void *dst, const void *src, size_t size) {
    uint8_t *to = dst;
    const uint8_t *from = src;
    if (size < VECTOR_BYTES) {
        carry_copy_generic(to, from, size);
        return;
    }
    for (; size > BLOCK_BYTES; to += BLOCK_BYTES, from += BLOCK_BYTES, size -= BLOCK_BYTES)
        copy_neon_block(to, from);
    const uint8x16_t last = vld1q_u8(from + size - VECTOR_BYTES);
    uint8_t *last_to = to + size - VECTOR_BYTES;
    for (; size > VECTOR_BYTES; to += VECTOR_BYTES, from += VECTOR_BYTES, size -= VECTOR_BYTES)
        vst1q_u8(to, vld1q_u8(from));
    vst1q_u8(last_to, last);
}
