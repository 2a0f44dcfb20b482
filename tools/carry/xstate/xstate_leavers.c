/* SPDX-License-Identifier: MIT */
/* `carry xstate leavers`: finds the library calls that return with dirty uppers. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "common/command.h"
#include "common/options.h"
#include "xstate/parts.h"
#include "xstate/xstate_leavers.h"

#define SHOW 20

static const char usage[] =
    "Usage: carry xstate leavers [OPTION]... -- CMD [ARG]...\n"
    "\n"
    "Runs a program and finds the leavers: functions that are called with clean upper\n"
    "halves of vector registers (AVX, ZMM_HI256), and return with dirty ones. SSE\n"
    "code that runs after them may be slow until something executes vzeroupper. All\n"
    "calls between a program and its shared objects are hooked, in child processes,\n"
    "too. Calls within an object and statically linked programs cannot be hooked.\n"
    "\n"
    "Dirty uppers are cleaned after each call, as otherwise the first leaver would\n"
    "hide the next ones.\n"
    "\n"
    "  -a, --addresses      hook calls without a PLT (-fno-plt), too; this changes\n"
    "                       the addresses of functions, which breaks some programs\n"
    "  -c, --check          exit with 1 if CMD succeeds, but a function left uppers\n"
    "                       dirty\n"
    "  -k, --keep           do not clean uppers; needed if functions return 256-bit\n"
    "                       vectors by value\n"
    "  -n, --show=COUNT     list this many functions (20)\n"
    "  -o, --output=FILE    write the report to FILE (default: standard error)\n"
    "  -J, --json           print a JSON object for each function, and a summary\n"
    "  -h, --help           print this help\n"
    "\n"
    "Exit status: that of CMD, or 128 plus the signal that ended it; with --check 1\n"
    "if a function left uppers dirty; 126 or 127 CMD could not be executed; 3 wrong\n"
    "usage, or CMD could not be hooked.\n"
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
