/* SPDX-License-Identifier: MIT */
/* `carry xstate prof`: the functions in which the upper halves of vector registers are dirty. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "common/command.h"
#include "common/options.h"
#include "xstate/parts.h"
#include "xstate/prof.h"

#define RATE_MAX    10000
#define RATE        1000
#define SHOW        20
#define SECONDS_MAX 1000000

static const char usage[] =
    "Usage: carry xstate prof [OPTION]... -- CMD [ARG]...\n"
    "       carry xstate prof [OPTION]... --pid=PID\n"
    "\n"
    "Runs a program, or follows one that runs, and samples in which functions upper\n"
    "halves of vector registers are in use (AVX, ZMM_HI256): there SSE code may run\n"
    "slowly. Threads, children and what they execute are followed, by ptrace: any\n"
    "program will do, static ones too. Only threads that run are sampled.\n"
    "\n"
    "  -a, --all            list all functions, clean ones too\n"
    "  -n, --show=COUNT     list so many functions (20)\n"
    "  -o, --output=FILE    write the report there, not on standard error (with\n"
    "                       --pid, standard output)\n"
    "  -p, --pid=PID        follow this process, and what it forks from now on\n"
    "  -r, --rate=HZ        look at the program so often a second (1000)\n"
    "  -s, --seconds=COUNT  stop sampling then; the program runs on\n"
    "  -J, --json           print a JSON object for each function, and a summary\n"
    "  -h, --help           print this\n"
    "\n"
    "Ctrl-C ends sampling, with the report.\n"
    "\n"
    "Exit status: that of CMD, 128 and the signal if one ended it; 126 or 127 if it\n"
    "could not be executed; with --pid 0; 3 wrong usage, or not permitted.\n"
    "\n"
    "Examples:\n"
    "  carry xstate prof -- openssl speed -seconds 1 -evp chacha20-poly1305\n"
    "  carry xstate prof --pid=$(pidof server) --seconds=10\n";

int xstate_prof(int argc, char **argv) {
    struct prof_options options = {.rate = RATE, .show = SHOW};
    uint64_t pid = 0;
    const struct option_row rows[] = {
        {"all", 'a', .flag = &options.all},
        {"show", 'n', .number = &options.show, OPTION_RANGE(1, UINT_MAX)},
        {"output", 'o', .text = &options.output},
        {"pid", 'p', .number = &pid, OPTION_RANGE(1, INT_MAX)},
        {"rate", 'r', .number = &options.rate, OPTION_RANGE(1, RATE_MAX)},
        {"seconds", 's', .number = &options.seconds, OPTION_RANGE(1, SECONDS_MAX)},
        {"json", 'J', .flag = &options.json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_COMMAND, &status))
        return status;
    if ((optind < argc) == (pid != 0))
        return command_usage(argv[0], "a command or --pid is needed, and not both");
    options.command = pid ? NULL : argv + optind;
    options.process = (pid_t)pid;
    return prof_run(&options);
}
