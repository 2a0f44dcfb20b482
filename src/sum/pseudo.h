/* SPDX-License-Identifier: MIT */
/* Inline sums of pseudo-headers, for `sum` and `packet`. Contracts: <carry/sum.h>. */
#ifndef CARRY_SUM_PSEUDO_H
#define CARRY_SUM_PSEUDO_H

#include "sum/sum_internal.h"

/* Loads a word of 32 bits. The carries of such words add up in the upper half of 64 bits. */
static inline uint64_t carry_pseudo_load_word(const void *data, size_t index) {
    uint32_t word;
    __builtin_memcpy(&word, (const unsigned char *)data + 4 * index, sizeof word);
    return word;
}

/* Returns the word that holds a number in network byte order. */
static inline uint64_t carry_pseudo_word_of(uint32_t number) {
    const unsigned char bytes[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                    (unsigned char)(number >> 8), (unsigned char)number};
    return carry_pseudo_load_word(bytes, 0);
}

/*
 * Returns the sum of the last fields in the pseudo-headers of IPv4 and IPv6: the size in 32 bits,
 * and the protocol padded with zeros. In IPv4, the size has 16 bits and the order differs, but
 * words may be added in any order.
 */
static inline uint64_t carry_pseudo_size_and_protocol(uint32_t size, uint8_t protocol) {
    return carry_pseudo_word_of(size) + carry_pseudo_word_of(protocol);
}

static inline uint32_t carry_sum_pseudo4_inline(const void *src, const void *dst, uint8_t protocol,
                                                uint32_t size, uint32_t sum) {
    return carry_sum_fold64(carry_pseudo_load_word(src, 0) + carry_pseudo_load_word(dst, 0) +
                            carry_pseudo_size_and_protocol(size, protocol) + sum);
}

static inline uint32_t carry_sum_pseudo6_inline(const void *src, const void *dst,
                                                uint8_t next_header, uint32_t size, uint32_t sum) {
    uint64_t words = carry_pseudo_size_and_protocol(size, next_header) + sum;
    for (size_t i = 0; i < 4; i++)
        words += carry_pseudo_load_word(src, i) + carry_pseudo_load_word(dst, i);
    return carry_sum_fold64(words);
}

#endif
