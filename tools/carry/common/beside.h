/* SPDX-License-Identifier: MIT */
/*
 * Does a program's work between two calls of a function: the mode `beside` of benchmarks. A
 * thousand multiplications, each of which depends on the previous one, take about a microsecond.
 * They use no vectors, so they take longer only if the function has lowered the clock frequency, or
 * left the CPU in a state that slows scalar code down.
 */
#ifndef CARRY_TOOLS_BENCH_BESIDE_H
#define CARRY_TOOLS_BENCH_BESIDE_H

#include <stdint.h>

#define BENCH_BESIDE_TURNS 1000

static inline __attribute__((always_inline)) uint64_t bench_beside(uint64_t x) {
    for (unsigned i = 0; i < BENCH_BESIDE_TURNS; i++) {
        x = x * UINT64_C(0x5851f42d4c957f2d) + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

#endif
