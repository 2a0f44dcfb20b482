/* SPDX-License-Identifier: MIT */
/* carry sites: the patchable sites of a program, as a file or as it runs. */
#include "sites/sites.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/command.h"
#include "common/options.h"

static const char usage[] =
    "Usage: carry sites [OPTION]... FILE|PID\n"
    "\n"
    "Lists the patchable sites (<carry/patch.h>) of an executable or shared object\n"
    "for x86-64, or of all objects of a running process: where each stands, of which\n"
    "operation, key or CPU feature it is, its present instruction, and why it is not\n"
    "patched. A number is a process; write ./123 for a file of that name. Names of a\n"
    "stripped file are those in its debug file, if there is one.\n"
    "\n"
    "  -c, --check    list what is wrong instead: lost records, unknown bytes,\n"
    "                 targets out of reach, states that no thread should run, ...\n"
    "  -J, --json     print a JSON object for each site or finding, and the counts\n"
    "  -h, --help     print this\n"
    "\n"
    "Exit status:\n"
    "  0  listed; nothing wrong     1  --check found something\n"
    "  2  not an ELF file for x86-64, or a damaged one\n"
    "  3  wrong usage, or the file or process may not be read\n"
    "\n"
    "Examples:\n"
    "  carry sites ./server\n"
    "  carry sites --check libengine.so\n"
    "  carry sites $(pidof server)      the states of its sites as it runs\n";

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
        return command_usage(argv[0], "one file, or the number of one process, is needed");
    if (strcmp(argv[optind], "-") == 0)
        return command_usage(argv[0], "standard input is not read: name a file");
    options.name = argv[optind];
    return sites_run(&options);
}
