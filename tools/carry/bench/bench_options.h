/* SPDX-License-Identifier: MIT */
/* Reads options that several benchmarks have. */
#ifndef CARRY_TOOLS_BENCH_OPTIONS_H
#define CARRY_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"

struct bench_options {
    size_t rounds;  /* replaced by --quick */
    double seconds; /* the most on a busy machine; reduced by --quick */
    bool json;
};

/* Reads --quick, --json and --help like options_read(). */
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
