/* SPDX-License-Identifier: MIT */
/* `carry xstate prof`: samples the functions in which upper halves of vectors are dirty. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "common/command.h"
#include "common/options.h"
#include "xstate/parts.h"
#include "xstate/xstate_prof.h"

#define RATE_MAX    10000
#define RATE        1000
#define SHOW        20
#define SECONDS_MAX 1000000

static const char usage[] =
    "Usage: carry xstate prof [OPTION]... -- CMD [ARG]...\n"
    "       carry xstate prof [OPTION]... --pid=PID\n"
    "\n"
    "Runs a program, or follows a running process, and samples the functions that run\n"
    "while upper halves of vector registers are in use (AVX, ZMM_HI256): SSE code may\n"
    "be slow there. It follows threads, child processes, and the programs that they\n"
    "execute, through ptrace, so a program may be statically linked, too. Only\n"
    "running threads are sampled.\n"
    "\n"
    "  -a, --all            list all functions, also clean ones\n"
    "  -n, --show=COUNT     list this many functions (20)\n"
    "  -o, --output=FILE    write the report to FILE (default: standard error; with\n"
    "                       --pid, standard output)\n"
    "  -p, --pid=PID        follow this process and its future child processes\n"
    "  -r, --rate=HZ        take this many samples a second (1000)\n"
    "  -s, --seconds=COUNT  stop sampling after this time; the program runs on\n"
    "  -J, --json           print a JSON object for each function, and a summary\n"
    "  -h, --help           print this help\n"
    "\n"
    "Ctrl-C ends sampling and prints the report.\n"
    "\n"
    "Exit status: that of CMD (0 with --pid), or 128 plus the signal that ended it;\n"
    "126 or 127 CMD could not be executed; 3 wrong usage, or no permission.\n"
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
        return command_usage(argv[0], "either a command or --pid is needed");
    options.command = pid ? NULL : argv + optind;
    options.process = (pid_t)pid;
    return prof_run(&options);
}
