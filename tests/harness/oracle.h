/* SPDX-License-Identifier: MIT */
/*
 * The Internet checksum as RFC 1071 defines it, computed byte by byte: the results of every kernel
 * are compared with it. It shares no code with the library, not even the fold, and must not be
 * optimised.
 *
 * Values are as the library returns them: 16 bits in memory order, not inverted. A value is 0 only
 * if every byte and the seed are 0.
 */
#ifndef CARRY_TESTS_ORACLE_H
#define CARRY_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sum that grows by one byte at a time, so that the value of every prefix is available. */
struct oracle {
    uint32_t sum; /* of big-endian words, as in the RFC's examples; or a CRC's register */
    bool odd;     /* the next byte is the second of its word */
};

/* Starts a sum. The seed is a partial sum, and counts as the four bytes that it occupies in
   memory. */
struct oracle oracle_start(uint32_t seed);
void oracle_byte(struct oracle *oracle, unsigned char byte);
uint16_t oracle_value(const struct oracle *oracle);

/* Returns the value of `size` bytes, by the functions above. */
uint16_t oracle_sum(const void *data, size_t size, uint32_t seed);

/* Returns the 16 bits that a partial sum represents. */
uint16_t oracle_fold(uint32_t partial);

/*
 * Computes the CRC32c of RFC 9260 bit by bit: one function starts it, one adds a byte. The seed is
 * the CRC of the bytes before.
 */
struct oracle oracle_crc32c_start(uint32_t seed);
void oracle_crc32c_byte(struct oracle *oracle, unsigned char byte);

/* The oracle of one kind of kernels. */
struct oracle_kind {
    struct oracle (*start)(uint32_t seed);
    void (*byte)(struct oracle *oracle, unsigned char byte);
    uint32_t (*value)(const struct oracle *oracle);
    uint32_t (*fold)(uint32_t result); /* returns the value that a kernel's result represents */
};

extern const struct oracle_kind oracle_internet;
extern const struct oracle_kind oracle_crc32c;

/* Returns the value of `size` bytes. */
uint32_t oracle_run(const struct oracle_kind *kind, const void *data, size_t size, uint32_t seed);

#endif
