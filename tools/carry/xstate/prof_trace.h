/* SPDX-License-Identifier: MIT */
/*
 * Follows a program by ptrace: all its threads, the processes that it forks, and the programs that
 * it executes. At intervals, stops each running thread for a moment and takes a sample of it.
 */
#ifndef CARRY_TOOLS_PROF_TRACE_H
#define CARRY_TOOLS_PROF_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/launch.h"
#include "xstate/prof_samples.h"

struct trace_options {
    struct launch *launch; /* the program; NULL: follow `process` */
    pid_t process;
    unsigned rate;    /* samples a second */
    unsigned seconds; /* how long to follow the program; 0: until it ends */
};

struct trace_result {
    bool ended;      /* the program has ended */
    int wait_status; /* how it ended */
    uint64_t threads;
    uint64_t processes;
    double seconds;
};

/*
 * Follows the program until it ends, the time is over, or SIGINT, SIGTERM or SIGHUP arrives. If
 * another process sent the signal, passes it on to a launched program. Nothing is traced after the
 * return. Returns an exit status.
 */
int trace_run(const struct trace_options *options, struct samples *samples,
              struct trace_result *result);

#endif
