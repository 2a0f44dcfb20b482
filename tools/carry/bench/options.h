/* SPDX-License-Identifier: MIT */
/* The options of benchmarks that have no others. */
#ifndef CARRY_TOOLS_BENCH_OPTIONS_H
#define CARRY_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_options {
    size_t rounds; /* as it is, or those of --quick */
    bool json;
};

/* As options_read() of --quick, --json and --help. */
bool bench_options(int argc, char **argv, const char *usage, struct bench_options *options,
                   int *status);

#endif
