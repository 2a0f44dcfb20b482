/* SPDX-License-Identifier: MIT */
/* The load bound: loads bytes and does nothing else with them. */
#ifndef CARRY_TOOLS_BENCH_LOAD_H
#define CARRY_TOOLS_BENCH_LOAD_H

#include <carry/sum.h>

struct bench_load {
    carry_sum_fn *load; /* reads all bytes and none outside; the result has no meaning */
    const char *feature;
    unsigned vector_bits;
};

/* Returns the routine with the widest vectors that carry_cpu_has() permits. */
struct bench_load bench_load_widest(void);

#endif
