/* SPDX-License-Identifier: MIT */
/* The parts of `carry xstate prof`. */
#ifndef CARRY_TOOLS_PROF_H
#define CARRY_TOOLS_PROF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct prof_options {
    char **command; /* NULL if a process is given */
    pid_t process;
    uint64_t rate;
    uint64_t seconds;
    uint64_t show; /* functions */
    bool all;      /* of them, without dirty samples too */
    bool json;
    const char *output; /* NULL: standard error, or standard output for a process */
};

/* Returns an exit status. */
int prof_run(const struct prof_options *options);

#endif
