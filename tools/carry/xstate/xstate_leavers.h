/* SPDX-License-Identifier: MIT */
/* Runs `carry xstate leavers`, after its options were read. */
#ifndef CARRY_TOOLS_LEAVERS_H
#define CARRY_TOOLS_LEAVERS_H

#include <stdbool.h>
#include <stdint.h>

struct leavers_options {
    char **command;
    uint64_t show;  /* how many functions to list */
    bool addresses; /* hook calls without a PLT, too */
    bool keep;      /* do not clean uppers that were left dirty */
    bool check;     /* sets the exit status if the command succeeds, but there are leavers */
    bool json;
    const char *output; /* NULL: standard error */
};

/* Runs a program with hooks, and reports. Returns an exit status. */
int leavers_run(const struct leavers_options *options);

#endif
