/* SPDX-License-Identifier: MIT */
/* The load bound: how fast bytes come in where nothing else is done with them. */
#ifndef CARRY_TOOLS_BENCH_LOAD_H
#define CARRY_TOOLS_BENCH_LOAD_H

#include <carry/sum.h>

struct bench_load {
    carry_sum_fn *load; /* reads all bytes, none outside, and returns something of no meaning */
    const char *feature;
    unsigned vector_bits;
};

/* The routine with the widest vectors that this CPU has and the mask leaves it. */
struct bench_load bench_load_widest(void);

#endif
