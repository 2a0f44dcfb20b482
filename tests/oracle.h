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
    uint32_t sum; /* of big-endian words, as the RFC's figures show them; or a CRC's register */
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

/* The CRC32c of RFC 9260, bit by bit, in the same manner: a seed is the CRC of what came before. */
struct oracle oracle_crc32c_start(uint32_t seed);
void oracle_crc32c_byte(struct oracle *oracle, unsigned char byte);

/* The judge of one kind of kernels. */
struct oracle_kind {
    struct oracle (*start)(uint32_t seed);
    void (*byte)(struct oracle *oracle, unsigned char byte);
    uint32_t (*value)(const struct oracle *oracle);
    uint32_t (*fold)(uint32_t result); /* what the result of a kernel stands for */
};

extern const struct oracle_kind oracle_internet;
extern const struct oracle_kind oracle_crc32c;

/* The value of `size` bytes. */
uint32_t oracle_run(const struct oracle_kind *kind, const void *data, size_t size, uint32_t seed);

#endif
