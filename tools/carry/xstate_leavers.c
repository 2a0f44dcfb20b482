/* SPDX-License-Identifier: MIT */
/* `carry xstate leavers`: the library calls that return with dirty uppers. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "command.h"
#include "leavers.h"
#include "xstate_parts.h"

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

static const struct option long_options[] = {
    {"addresses", no_argument, NULL, 'a'},    {"check", no_argument, NULL, 'c'},
    {"keep", no_argument, NULL, 'k'},         {"show", required_argument, NULL, 'n'},
    {"output", required_argument, NULL, 'o'}, {"json", no_argument, NULL, 'J'},
    {"help", no_argument, NULL, 'h'},         {0},
};

static int set_option(char **argv, int option, struct leavers_options *options) {
    switch (option) {
    case 'a':
        options->addresses = true;
        return STATUS_CLEAN;
    case 'c':
        options->check = true;
        return STATUS_CLEAN;
    case 'k':
        options->keep = true;
        return STATUS_CLEAN;
    case 'n':
        return command_number(argv, "show", UINT_MAX, &options->show);
    case 'o':
        options->output = optarg;
        return STATUS_CLEAN;
    case 'J':
        options->json = true;
        return STATUS_CLEAN;
    default:
        return command_bad_option(argv, option);
    }
}

static int parse(int argc, char **argv, struct leavers_options *options, bool *help) {
    int option, status = STATUS_CLEAN;
    opterr = 0;
    optind = 1;
    while (status == STATUS_CLEAN &&
           (option = getopt_long(argc, argv, "+:ackn:o:Jh", long_options, NULL)) != -1) {
        *help = option == 'h';
        if (*help)
            return STATUS_CLEAN;
        status = set_option(argv, option, options);
    }
    if (status == STATUS_CLEAN && optind == argc)
        return command_usage(argv[0], "a command is needed");
    options->command = argv + optind;
    return status;
}

int xstate_leavers(int argc, char **argv) {
    struct leavers_options options = {.show = SHOW};
    bool help = false;
    int status = parse(argc, argv, &options, &help);
    if (help)
        fputs(usage, stdout);
    return help || status != STATUS_CLEAN ? status : leavers_run(&options);
}
