/* SPDX-License-Identifier: MIT */
/* What the options of benchmarks share. */
#ifndef CARRY_TOOLS_BENCH_OPTIONS_H
#define CARRY_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

struct bench_options {
    size_t rounds;  /* as it is, or those of --quick */
    double seconds; /* at most, on a busy machine; likewise */
    bool json;
};

/* As options_read() of --quick, --json and --help. */
bool bench_options(int argc, char **argv, const char *usage, struct bench_options *options,
                   int *status);

#define BENCH_LIST_MAX 32

/* The values of an option that may be repeated. */
struct bench_list {
    size_t count;
    size_t items[BENCH_LIST_MAX];
};

/* Adds a number from row->low to row->high to the struct bench_list at row->target. */
option_setter bench_add_number;

#endif
