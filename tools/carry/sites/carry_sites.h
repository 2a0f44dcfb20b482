/* SPDX-License-Identifier: MIT */
/* Runs `carry sites`, after its options were read. */
#ifndef CARRY_TOOLS_SITES_H
#define CARRY_TOOLS_SITES_H

#include <stdbool.h>

struct sites_options {
    const char *name; /* a file, or the number of a process */
    bool check;
    bool json;
    bool help;
};

/* Lists the sites, or checks them. Returns an exit status. */
int sites_run(const struct sites_options *options);

#endif
