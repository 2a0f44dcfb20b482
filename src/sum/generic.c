/* SPDX-License-Identifier: MIT */
/*
 * The portable kernel, for either byte order. 32-bit words go into a 64-bit accumulator: no carry
 * can be lost before 16 GiB, and size_t sized runs are summed in parts below that.
 */
#include "sum/sum.h"

#define PART_BYTES ((size_t)1 << 30)

static uint64_t load32(const unsigned char *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

/* Up to 3 bytes, followed by zeros. Loaded whole: words put together from bytes in memory stall. */
static uint64_t load_tail(const unsigned char *p, size_t size) {
    uint16_t pair = 0, last = 0;
    if (size & 2)
        __builtin_memcpy(&pair, p, 2);
    if (size & 1)
        __builtin_memcpy(&last, p + (size & 2), 1);
    return (uint64_t)pair + last;
}

static uint64_t sum_part(const unsigned char *p, size_t size, uint64_t sum) {
    uint64_t other = 0; /* a second chain, so that additions overlap */
    for (; size >= 16; p += 16, size -= 16) {
        sum += load32(p) + load32(p + 4);
        other += load32(p + 8) + load32(p + 12);
    }
    for (; size >= 4; p += 4, size -= 4)
        sum += load32(p);
    return sum + other + load_tail(p, size);
}

uint32_t carry_sum_generic(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    for (; size > PART_BYTES; p += PART_BYTES, size -= PART_BYTES)
        sum = carry_sum_fold64(sum_part(p, PART_BYTES, sum));
    return carry_sum_fold64(sum_part(p, size, sum));
}
