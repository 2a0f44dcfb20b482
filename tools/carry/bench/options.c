/* SPDX-License-Identifier: MIT */
#include "bench/options.h"

#include "common/options.h"

#define QUICK_ROUNDS 11

bool bench_options(int argc, char **argv, const char *usage, struct bench_options *options,
                   int *status) {
    bool quick = false;
    const struct option_row rows[] = {
        {"quick", .flag = &quick},
        {"json", 'J', .flag = &options->json},
        {0},
    };
    const bool runs = options_read(argc, argv, usage, rows, OPERANDS_NONE, status);
    if (quick)
        options->rounds = QUICK_ROUNDS;
    return runs;
}
