/* SPDX-License-Identifier: MIT */
/* The parts of `carry xstate leavers`. */
#ifndef CARRY_TOOLS_LEAVERS_H
#define CARRY_TOOLS_LEAVERS_H

#include <stdbool.h>
#include <stdint.h>

struct leavers_options {
    char **command;
    uint64_t show;  /* functions */
    bool addresses; /* calls without a PLT, too */
    bool keep;      /* uppers that were left dirty */
    bool check;     /* leavers in the exit status */
    bool json;
    const char *output; /* NULL: standard error */
};

/* Returns an exit status. */
int leavers_run(const struct leavers_options *options);

#endif
