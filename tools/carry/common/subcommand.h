/* SPDX-License-Identifier: MIT */
/* Commands that are several: `carry bench` and `carry xstate` run what their next word names. */
#ifndef CARRY_TOOLS_SUBCOMMAND_H
#define CARRY_TOOLS_SUBCOMMAND_H

#include <stddef.h>

struct subcommand {
    const char *name;
    const char *title; /* "bench sum", as messages name it: its argv[0] */
    const char *summary;
    int (*run)(int argc, char **argv);
};

struct subcommands {
    const char *kind;  /* what one of them is called: "benchmark" */
    const char *intro; /* of --help, down to the list of them */
    const char *outro; /* what follows on it */
    const struct subcommand *rows;
    size_t count;
};

/* Runs the one that argv[1] names, or prints the help; returns the exit status. */
int subcommand_run(const struct subcommands *commands, int argc, char **argv);

#endif
