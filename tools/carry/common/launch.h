/* SPDX-License-Identifier: MIT */
/* The program that a subcommand runs: CMD of `carry xstate prof -- CMD`. */
#ifndef CARRY_TOOLS_LAUNCH_H
#define CARRY_TOOLS_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct launch {
    char **command; /* its arguments, the program first, then NULL */
    pid_t process;
    int go;      /* a byte in here lets it execute */
    int failure; /* out of here comes errno, if it could not */
    bool failed; /* it could not: known once its status is */
};

/*
 * Starts a process that will execute the command in this environment, with this signal mask, once
 * it may: until then it can be traced. It never does if this process ends before. Returns an exit
 * status.
 */
int launch_start(struct launch *launch, char **command, char **environment, const sigset_t *mask);
void launch_go(struct launch *launch);

/*
 * From here on Ctrl-C is for the program alone, and signals that would end this process are passed
 * on, if they were sent to it rather than to all processes of a terminal.
 */
void launch_attend(const struct launch *launch);

/*
 * What the subcommand exits with for a process that has ended so, as shells do: its own status, or
 * 128 and the signal. If it could not be executed, says why: 127 if it is not there, else 126.
 */
int launch_status(struct launch *launch, int wait_status);

/* The same once it has ended, for which this waits. */
int launch_wait(struct launch *launch);

#endif
