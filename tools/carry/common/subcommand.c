/* SPDX-License-Identifier: MIT */
#include "common/subcommand.h"

#include <stdio.h>
#include <string.h>

#include "common/command.h"

static void print_subcommands(const struct subcommands *commands) {
    fputs(commands->intro, stdout);
    for (size_t i = 0; i < commands->count; i++)
        printf("  %-8s %s\n", commands->rows[i].name, commands->rows[i].summary);
    fputs(commands->outro, stdout);
}

int subcommand_run(const struct subcommands *commands, int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        print_subcommands(commands);
        return STATUS_CLEAN;
    }
    for (size_t i = 0; i < commands->count; i++) {
        if (strcmp(name, commands->rows[i].name) == 0) {
            argv[1] = (char *)commands->rows[i].title;
            return commands->rows[i].run(argc - 1, argv + 1);
        }
    }
    return command_usage(argv[0], "no %s '%s'", commands->kind, name);
}
