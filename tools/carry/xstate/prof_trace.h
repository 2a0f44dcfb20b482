/* SPDX-License-Identifier: MIT */
/*
 * Follows a program by ptrace: all its threads, what it forks and what it executes. Threads that
 * run are stopped for a moment now and then, and a sample is taken of each.
 */
#ifndef CARRY_TOOLS_PROF_TRACE_H
#define CARRY_TOOLS_PROF_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/launch.h"
#include "xstate/prof_samples.h"

struct trace_options {
    struct launch *launch; /* the program; NULL if `process` runs already */
    pid_t process;
    unsigned rate;    /* per second */
    unsigned seconds; /* to follow it; 0: until it ends */
};

struct trace_result {
    bool ended;      /* the program has, */
    int wait_status; /* so */
    uint64_t threads;
    uint64_t processes;
    double seconds;
};

/*
 * Follows the program until it ends, the time is over, or SIGINT, SIGTERM or SIGHUP comes; such a
 * signal that was sent to this process alone is passed on to a program that was launched. Nothing
 * is traced any more when this returns. Returns an exit status.
 */
int trace_run(const struct trace_options *options, struct samples *samples,
              struct trace_result *result);

#endif
