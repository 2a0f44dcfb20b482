/* SPDX-License-Identifier: MIT */
#include "mutants/mutants.h"

#include <fenv.h>
#include <string.h>

static uint32_t fold(uint64_t sum) {
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (uint32_t)(sum + (sum >> 32));
}

static uint16_t load16(const unsigned char *p) {
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static uint64_t load64(const unsigned char *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static uint64_t even_words(const unsigned char *p, size_t size) {
    uint64_t sum = 0;
    for (; size >= 2; p += 2, size -= 2)
        sum += load16(p);
    return sum;
}

static uint64_t all_words(const unsigned char *p, size_t size) {
    unsigned char last[2] = {0, 0};
    if (size & 1)
        last[0] = p[size - 1];
    return even_words(p, size) + load16(last);
}

uint32_t broken_not(const void *data, size_t size, uint32_t sum) {
    return fold(all_words(data, size) + sum);
}

uint32_t broken_loses_carry(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    uint64_t wrapping = sum;
    for (; size >= 8; p += 8, size -= 8)
        wrapping += load64(p);
    return fold(fold(wrapping) + all_words(p, size));
}

/* Loses the carry where a word of all ones plus a carry overflows to 0. */
uint32_t broken_loses_rare_carry(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    uint64_t total = sum;
    uint64_t carry = 0;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t word = load64(p) + carry;
        total += word;
        carry = total < word;
    }
    return fold(fold(total) + carry + all_words(p, size));
}

uint32_t broken_forgets_odd_byte(const void *data, size_t size, uint32_t sum) {
    return fold(even_words(data, size) + sum);
}

/* Sums from an even address on, but does not swap the bytes of that sum. */
uint32_t broken_fails_at_odd_start(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    if (((uintptr_t)p & 1) && size)
        return fold(all_words(p, 1) + all_words(p + 1, size - 1) + sum);
    return broken_not(data, size, sum);
}

uint32_t broken_one_byte_too_many(const void *data, size_t size, uint32_t sum) {
    return broken_not(data, size ? size + 1 : 0, sum);
}

uint32_t broken_sign_extends(const void *data, size_t size, uint32_t sum) {
    const unsigned char *p = data;
    uint64_t total = sum;
    for (; size >= 2; p += 2, size -= 2)
        total += (uint64_t)(int16_t)load16(p);
    return fold(fold(total) + all_words(p, size));
}

uint32_t broken_ignores_seed(const void *data, size_t size, uint32_t sum) {
    (void)sum;
    return broken_not(data, size, 0);
}

uint32_t broken_cuts_seed(const void *data, size_t size, uint32_t sum) {
    return broken_not(data, size, (uint16_t)sum);
}

uint32_t broken_ones_for_zeros(const void *data, size_t size, uint32_t sum) {
    uint32_t partial = broken_not(data, size, sum);
    return partial ? partial : 0xffff;
}

/* Returns 0 for 0xffff: congruent but wrong, because 0xffff means that some byte was not 0. */
uint32_t broken_zero_for_ones(const void *data, size_t size, uint32_t sum) {
    return broken_not(data, size, sum) % 0xffff;
}

uint32_t broken_fails_at_64_kib(const void *data, size_t size, uint32_t sum) {
    return broken_not(data, size % 0x10000, sum);
}

/* Uses a 32-bit accumulator without intermediate folds: enough for packets, not for all sizes. */
uint32_t broken_overflows(const void *data, size_t size, uint32_t sum) {
    return fold((uint64_t)(uint32_t)all_words(data, size) + sum);
}

static unsigned touch_byte(const unsigned char *p) {
    return *(const volatile unsigned char *)p;
}

uint32_t broken_reads_past_end(const void *data, size_t size, uint32_t sum) {
    touch_byte((const unsigned char *)data + size);
    return broken_not(data, size, sum);
}

/* Loads the last word as a whole: right unless the next page is missing. */
uint32_t broken_reads_whole_words(const void *data, size_t size, uint32_t sum) {
    if (size % 8)
        touch_byte((const unsigned char *)data + (size | 7));
    return broken_not(data, size, sum);
}

uint32_t broken_reads_before(const void *data, size_t size, uint32_t sum) {
    touch_byte((const unsigned char *)data - 1);
    return broken_not(data, size, sum);
}

uint32_t broken_rounds_up(const void *data, size_t size, uint32_t sum) {
    fesetround(FE_UPWARD);
    return broken_not(data, size, sum);
}
