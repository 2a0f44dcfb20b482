/* SPDX-License-Identifier: MIT */
#include "harness/rng.h"

#include <string.h>

static uint64_t state = RNG_DEFAULT_SEED;

void rng_restart(void) {
    state = rng_seed();
}

/* Returns the next number of SplitMix64 (Steele, Lea, Flood 2014), which accepts any seed and
   passes the usual test suites. */
uint64_t rng_next(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t rng_below(size_t limit) {
    return (size_t)(rng_next() % limit);
}

void rng_fill(void *data, size_t size) {
    unsigned char *p = data;
    while (size) {
        uint64_t word = rng_next();
        size_t part = size < sizeof word ? size : sizeof word;
        memcpy(p, &word, part);
        p += part;
        size -= part;
    }
}
