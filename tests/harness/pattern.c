/* SPDX-License-Identifier: MIT */
#include "harness/pattern.h"

#include <stdint.h>
#include <string.h>

#include "harness/rng.h"

/* Repeats the `unit_size` bytes at `unit`. */
static void repeat_unit(unsigned char *data, size_t size, const void *unit, size_t unit_size) {
    for (size_t i = 0; i < size; i++)
        data[i] = ((const unsigned char *)unit)[i % unit_size];
}

static void fill_random(unsigned char *data, size_t size) {
    rng_fill(data, size);
}

/* Fills with zeros. They fold to 0, but to 0xffff in code that complements once too often. */
static void fill_zeros(unsigned char *data, size_t size) {
    memset(data, 0, size);
}

/* Fills with the largest words. They overflow accumulators, with a carry at every addition. */
static void fill_ones(unsigned char *data, size_t size) {
    memset(data, 0xff, size);
}

/* Fills with 0xff, except a few random bytes. */
static void fill_sparse(unsigned char *data, size_t size) {
    memset(data, 0xff, size);
    for (size_t i = 0; i < size; i += 1 + rng_below(200))
        data[i] = (unsigned char)rng_next();
}

/* Fills with 16-bit words one less than all ones. */
static void fill_fffe(unsigned char *data, size_t size) {
    const uint16_t unit = 0xfffe;
    repeat_unit(data, size, &unit, sizeof unit);
}

/* Fills with pairs that add up to exactly 2^64: only their carry remains. */
static void fill_alternating(unsigned char *data, size_t size) {
    const uint64_t unit[2] = {UINT64_MAX, 1};
    repeat_unit(data, size, unit, sizeof unit);
}

/*
 * Fills with words at the limits of 16, 32 and 64 bits in random order: carries propagate through
 * all widths.
 */
static void fill_edges(unsigned char *data, size_t size) {
    static const uint64_t edges[] = {
        0,
        1,
        UINT64_MAX,
        UINT64_MAX - 1,
        UINT64_C(0xffffffff),
        UINT64_C(0xffffffff00000000),
        UINT64_C(0xffff0000ffff0000),
        UINT64_C(0x8000000000000000),
        UINT64_C(0x7fffffffffffffff),
    };
    for (size_t i = 0; i < size; i += 8) {
        size_t part = size - i < 8 ? size - i : 8;
        memcpy(data + i, &edges[rng_below(sizeof edges / sizeof *edges)], part);
    }
}

/* Fills with extremes of signed words: dot products and saturating additions are signed. */
static void fill_lowest(unsigned char *data, size_t size) {
    const uint16_t unit = 0x8000;
    repeat_unit(data, size, &unit, sizeof unit);
}

static void fill_highest(unsigned char *data, size_t size) {
    const uint16_t unit = 0x7fff;
    repeat_unit(data, size, &unit, sizeof unit);
}

const struct pattern patterns[PATTERN_COUNT] = {
    [PATTERN_RANDOM] = {"random data", fill_random},
    [PATTERN_ZEROS] = {"all zeros", fill_zeros},
    [PATTERN_ONES] = {"all ones", fill_ones},
    [PATTERN_SPARSE] = {"ones with gaps", fill_sparse},
    [PATTERN_FFFE] = {"0xfffe words", fill_fffe},
    [PATTERN_ALTERNATING] = {"alternating words", fill_alternating},
    [PATTERN_EDGES] = {"edge words", fill_edges},
    [PATTERN_LOWEST] = {"0x8000 words", fill_lowest},
    [PATTERN_HIGHEST] = {"0x7fff words", fill_highest},
};
