/* SPDX-License-Identifier: MIT */
/* `carry xstate leavers`: the library calls that return with dirty uppers. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "common/command.h"
#include "common/options.h"
#include "xstate/leavers.h"
#include "xstate/parts.h"

#define SHOW 20

static const char usage[] =
    "Usage: carry xstate leavers [OPTION]... -- CMD [ARG]...\n"
    "\n"
    "Runs a program, and finds the functions that return with upper halves of vector\n"
    "registers in use (AVX, ZMM_HI256) though they were called with clean ones: SSE\n"
    "code that runs after them may run slowly, until something executes vzeroupper.\n"
    "All calls between a program and its shared objects are hooked, in children too;\n"
    "calls within an object are not, nor is a program that is linked statically.\n"
    "\n"
    "Uppers that were left dirty are cleaned, so that what is called next is judged\n"
    "afresh: otherwise the first leaver hides those behind it.\n"
    "\n"
    "  -a, --addresses      hook calls without a PLT, too (-fno-plt): functions then\n"
    "                       have other addresses there, which not all programs bear\n"
    "  -c, --check          exit with 1 if CMD succeeds, but something left uppers\n"
    "                       dirty\n"
    "  -k, --keep           leave uppers as they are, also for functions that return\n"
    "                       256-bit vectors by value\n"
    "  -n, --show=COUNT     list so many functions (20)\n"
    "  -o, --output=FILE    write the report there, not on standard error\n"
    "  -J, --json           print a JSON object for each function, and a summary\n"
    "  -h, --help           print this\n"
    "\n"
    "Exit status: that of CMD, 128 and the signal if one ended it; 126 or 127 if it\n"
    "could not be executed; 3 wrong usage, or nothing could be loaded into it.\n"
    "\n"
    "Examples:\n"
    "  carry xstate leavers -- openssl speed -seconds 1 -aead -evp chacha20-poly1305\n"
    "  carry xstate leavers --check -- ./test-suite\n";

int xstate_leavers(int argc, char **argv) {
    struct leavers_options options = {.show = SHOW};
    const struct option_row rows[] = {
        {"addresses", 'a', .flag = &options.addresses},
        {"check", 'c', .flag = &options.check},
        {"keep", 'k', .flag = &options.keep},
        {"show", 'n', .number = &options.show, OPTION_RANGE(1, UINT_MAX)},
        {"output", 'o', .text = &options.output},
        {"json", 'J', .flag = &options.json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_COMMAND, &status))
        return status;
    if (optind == argc)
        return command_usage(argv[0], "a command is needed");
    options.command = argv + optind;
    return leavers_run(&options);
}
