/* SPDX-License-Identifier: MIT */
/* Shares cases and results of `carry bench jit` between measurement and reports. */
#ifndef CARRY_TOOLS_BENCH_JIT_H
#define CARRY_TOOLS_BENCH_JIT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/measure.h"

/* The first modes of `carry bench sum`: hot and latency. */
#define JIT_MODES 2

/* Functions that sum: two are compiled, two are made at run time. */
enum jit_sum { JIT_C, JIT_BEST, JIT_EXACT, JIT_RANGE, JIT_SUMS };

/* Sizes of sums, in bytes. */
#define JIT_SIZES 7
extern const size_t jit_sizes[JIT_SIZES];

/* The functions to make: a sum for each size, a sum for all sizes, and a check and a write of
 * packets of TCP over IPv4. */
enum jit_function { JIT_FOR_RANGE = JIT_SIZES, JIT_CHECK, JIT_WRITE, JIT_FUNCTIONS };

/* Functions that process packets: compiled, or made at run time. */
enum jit_way { JIT_COMPILED, JIT_MADE, JIT_WAYS };
#define JIT_PACKETS 4
extern const struct jit_packet {
    const char *name;
    size_t size;
    enum jit_function function;
} jit_packets[JIT_PACKETS];

struct jit_bench {
    size_t rounds;
    double seconds; /* the most on a busy machine, for each of three plans */
    struct bench_noise noise;
    bool supported;
    const char *best; /* the kernel that carry_sum() uses */
    struct bench_stats sums[JIT_MODES][JIT_SIZES][JIT_SUMS];
    double sum_speedups[JIT_MODES][JIT_SIZES][JIT_SUMS]; /* relative to JIT_BEST */
    struct bench_stats packets[JIT_PACKETS][JIT_WAYS];
    double packet_speedups[JIT_PACKETS];      /* of made functions; 0: there is no generator */
    struct bench_stats making[JIT_FUNCTIONS]; /* to make and release a function */
    size_t text_sizes[JIT_FUNCTIONS];         /* 0: there is no generator */
};

/*
 * Measures bench->rounds rounds. Returns STATUS_CLEAN, even if no function can be made, or another
 * exit status after a message.
 */
int bench_jit_measure(struct jit_bench *bench);

#endif
