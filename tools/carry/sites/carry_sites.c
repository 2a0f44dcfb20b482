/* SPDX-License-Identifier: MIT */
/* Implements carry sites: lists and checks the sites of a program, in a file or in a process. */
#include "sites/carry_sites.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/options.h"

static const char usage[] =
    "Usage: carry sites [OPTION]... FILE|PID\n"
    "\n"
    "Lists the patchable sites (<carry/patch.h>) of an executable or shared object\n"
    "for x86-64 or AArch64, on either, or of all objects of a running process: the\n"
    "address of each site, its operation, key or CPU feature, its instruction, and\n"
    "the reason if it is not patched. A number is a process; write ./123 for a file\n"
    "of that name. The names of a stripped file are read from its debug file, if\n"
    "there is one.\n"
    "\n"
    "  -c, --check    list only what is wrong: lost records, unknown bytes, targets\n"
    "                 out of reach, states that no thread should run, and others\n"
    "  -J, --json     print a JSON object for each site or finding, and the counts\n"
    "  -h, --help     print this help\n"
    "\n"
    "Exit status:\n"
    "  0  nothing wrong, or listed     1  --check found something wrong\n"
    "  2  not an ELF file for x86-64 or AArch64, or a damaged one\n"
    "  3  wrong usage, or no permission to read the file or process\n"
    "\n"
    "Examples:\n"
    "  carry sites ./server\n"
    "  carry sites --check libengine.so\n"
    "  carry sites $(pidof server)      the sites of a running process\n";

int command_sites(int argc, char **argv) {
    struct sites_options options = {0};
    const struct option_row rows[] = {
        {"check", 'c', .flag = &options.check},
        {"json", 'J', .flag = &options.json},
        {0},
    };
    int status;
    if (!options_read(argc, argv, usage, rows, OPERANDS_ANY, &status))
        return status;
    if (argc - optind != 1)
        return command_usage(argv[0], "one file or one process number is needed");
    if (strcmp(argv[optind], "-") == 0)
        return command_usage(argv[0], "standard input cannot be read: name a file");
    options.name = argv[optind];
    return sites_run(&options);
}
