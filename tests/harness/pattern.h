/* SPDX-License-Identifier: MIT */
/* Data that reveals wrong sums: pattern.c describes the purpose of each pattern. */
#ifndef CARRY_TESTS_PATTERN_H
#define CARRY_TESTS_PATTERN_H

#include <stddef.h>

struct pattern {
    const char *name;
    void (*fill)(unsigned char *data, size_t size);
};

enum {
    PATTERN_RANDOM,
    PATTERN_ZEROS,
    PATTERN_ONES,
    PATTERN_PLAIN_COUNT, /* the other patterns provoke carries */
    PATTERN_SPARSE = PATTERN_PLAIN_COUNT,
    PATTERN_FFFE,
    PATTERN_ALTERNATING,
    PATTERN_EDGES,
    PATTERN_LOWEST,
    PATTERN_HIGHEST,
    PATTERN_COUNT
};

extern const struct pattern patterns[PATTERN_COUNT];

#endif
