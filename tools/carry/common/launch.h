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
    int go;      /* a descriptor: writing a byte lets the process execute the command */
    int failure; /* a descriptor: errno is read from it if the process cannot execute the command */
    bool failed; /* the process could not execute the command; set by launch_status() */
};

/*
 * Starts a process that will execute the command in this environment and with this signal mask
 * after launch_go(), so that it can be traced before. The process never executes the command if its
 * parent ends first. Returns an exit status.
 */
int launch_start(struct launch *launch, char **command, char **environment, const sigset_t *mask);
void launch_go(struct launch *launch);

/* Makes Ctrl-C act on the program only, from now on. Signals that would end this process are passed
   on to the program if they were sent to this process alone, not to all processes of a terminal. */
void launch_attend(const struct launch *launch);

/*
 * Returns the subcommand's exit status for a process that has ended with `wait_status`. As in
 * shells, this is the program's own status, or 128 plus the signal. If the command could not be
 * executed, reports why, and returns 127 if its file does not exist, otherwise 126.
 */
int launch_status(struct launch *launch, int wait_status);

/* Waits until the process has ended, and returns the status that launch_status() describes. */
int launch_wait(struct launch *launch);

#endif
