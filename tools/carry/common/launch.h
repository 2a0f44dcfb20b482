/* SPDX-License-Identifier: MIT */
/* Runs the program of a subcommand: CMD of `carry xstate prof -- CMD`. */
#ifndef CARRY_TOOLS_LAUNCH_H
#define CARRY_TOOLS_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct launch {
    char **command; /* its arguments, the program first, then NULL */
    pid_t process;
    int go;      /* writing a byte here lets it execute */
    int failure; /* if it cannot execute, errno is read from here */
    bool failed; /* it could not execute; set by launch_status() */
};

/*
 * Starts a process that will execute the command in this environment and with this signal mask
 * after launch_go(); until then it can be traced. It never executes the command if this process
 * ends first. Returns an exit status.
 */
int launch_start(struct launch *launch, char **command, char **environment, const sigset_t *mask);
void launch_go(struct launch *launch);

/*
 * Makes Ctrl-C act on the program only, from now on. Signals that would end this process are passed
 * on to the program, if they were sent to this process rather than to all processes of a terminal.
 */
void launch_attend(const struct launch *launch);

/*
 * Returns the subcommand's exit status for a process that has ended with `wait_status`, as shells
 * do: its own status, or 128 plus the signal. If it could not be executed, reports why and returns
 * 127 if the file does not exist, otherwise 126.
 */
int launch_status(struct launch *launch, int wait_status);

/* Waits until the process has ended, and returns the status that launch_status() describes. */
int launch_wait(struct launch *launch);

#endif
