/* SPDX-License-Identifier: MIT */
/*
 * The Internet checksum as RFC 1071 defines it, byte by byte: the judge of every kernel. It shares
 * nothing with the library, not even the fold, and nobody shall make it faster.
 *
 * Values are as the library returns them: 16 bits in memory order, not inverted. A value is 0 only
 * if every byte and the seed were 0.
 */
#ifndef CARRY_TESTS_ORACLE_H
#define CARRY_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum that grows by one byte at a time, so that every prefix of a run has its value at hand. */
struct oracle {
    uint16_t sum; /* of big-endian words, as the RFC's figures show them */
    bool odd;     /* the next byte is the second of its word */
};

/* The seed, a partial sum, counts as the four bytes that it has in memory. */
struct oracle oracle_start(uint32_t seed);
void oracle_byte(struct oracle *oracle, unsigned char byte);
uint16_t oracle_value(const struct oracle *oracle);

/* All of the above for `size` bytes. */
uint16_t oracle_sum(const void *data, size_t size, uint32_t seed);

/* The 16 bits that a partial sum stands for. */
uint16_t oracle_fold(uint32_t partial);

#endif
