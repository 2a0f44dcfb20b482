/* SPDX-License-Identifier: MIT */
/* Runs `carry xstate prof`, after its options were read. */
#ifndef CARRY_TOOLS_PROF_H
#define CARRY_TOOLS_PROF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct prof_options {
    char **command; /* NULL: follow `process` */
    pid_t process;
    uint64_t rate;
    uint64_t seconds;
    uint64_t show; /* how many functions to list */
    bool all;      /* lists functions without dirty samples, too */
    bool json;
    const char *output; /* NULL: standard error, or standard output for a process */
};

/* Follows a program, and reports. Returns an exit status. */
int prof_run(const struct prof_options *options);

#endif
