/* SPDX-License-Identifier: MIT */
#include "bench_options.h"

#include <getopt.h>

#include "command.h"

#define QUICK_ROUNDS 11

int bench_options(int argc, char **argv, struct bench_options *options) {
    enum { QUICK = 1, JSON };
    static const struct option table[] = {
        {"quick", no_argument, NULL, QUICK},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option;
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        if (option == QUICK)
            options->rounds = QUICK_ROUNDS;
        else if (option == JSON)
            options->json = true;
        else if (option == 'h')
            options->help = true;
        else
            return command_bad_option(argv, option);
    }
    if (argc > optind)
        return command_usage(argv[0], "unexpected argument '%s'", argv[optind]);
    return STATUS_CLEAN;
}
