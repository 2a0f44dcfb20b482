/* SPDX-License-Identifier: MIT */
/* Options that do no more than set a variable each. */
#ifndef CARRY_TOOLS_OPTIONS_H
#define CARRY_TOOLS_OPTIONS_H

#include <stdbool.h>

/* One of the three is given: what it sets. */
struct option_row {
    const char *name;
    char letter; /* or 0 */
    bool *flag;
    const char **text;
    unsigned *number; /* from 1 */
    unsigned high;    /* ... to this */
};

enum operands {
    OPERANDS_NONE,
    OPERANDS_ANY,     /* they may stand among the options */
    OPERANDS_COMMAND, /* options end in front of the first */
};

/*
 * Reads the options of `rows`, 16 at most and then an empty one, and --help, which prints `usage`.
 * True if the command is to run; its operands begin at argv[optind]. Otherwise *status is what to
 * exit with.
 */
bool options_read(int argc, char **argv, const char *usage, const struct option_row *rows,
                  enum operands operands, int *status);

#endif
