/* SPDX-License-Identifier: MIT */
/* The options of benchmarks that have no others. */
#ifndef CARRY_TOOLS_BENCH_OPTIONS_H
#define CARRY_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_options {
    size_t rounds; /* as it is, or those of --quick */
    bool json;
    bool help;
};

/* Reads --quick, --json and --help. Returns STATUS_CLEAN, or an exit status after a message. */
int bench_options(int argc, char **argv, struct bench_options *options);

#endif
