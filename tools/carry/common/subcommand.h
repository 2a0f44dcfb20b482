/* SPDX-License-Identifier: MIT */
/* Runs the subcommand of `carry bench` or `carry xstate` that the next argument names. */
#ifndef CARRY_TOOLS_SUBCOMMAND_H
#define CARRY_TOOLS_SUBCOMMAND_H

#include <stddef.h>

struct subcommand {
    const char *name;
    const char *title; /* "bench sum": its name in messages, as argv[0] */
    const char *summary;
    int (*run)(int argc, char **argv);
};

struct subcommands {
    const char *kind;  /* the term for one of them: "benchmark" */
    const char *intro; /* text of --help before the list of rows */
    const char *outro; /* text of --help after the list of rows */
    const struct subcommand *rows;
    size_t count;
};

/* Runs the subcommand that argv[1] names, or prints the help; returns the exit status. */
int subcommand_run(const struct subcommands *commands, int argc, char **argv);

#endif
