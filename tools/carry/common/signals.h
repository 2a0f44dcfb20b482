/* SPDX-License-Identifier: MIT */
/*
 * Cleans up before a signal ends the program: removes incomplete files and wipes temporary lines
 * off the terminal. Also lets a first Ctrl-C end only what is being read.
 */
#ifndef CARRY_TOOLS_SIGNALS_H
#define CARRY_TOOLS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Calls `undo` before a signal ends the program. Registering it again has no effect. It runs in a
   signal handler. */
void signals_undo(void (*undo)(void));

/* Hold or release signals: between the two calls, no `undo` runs in this thread. In threads that
   this thread starts between the calls, no `undo` ever runs. */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

/*
 * Catches a first signal between the two calls: the first SIGINT or SIGTERM, or SIGHUP if `hangup`,
 * does not end the program, but makes the returned descriptor readable. The next signal ends the
 * program as usual. Returns -1, and changes nothing, if the first signal arrived earlier, or if
 * there is no free descriptor.
 */
int signals_stop_begin(bool hangup);
void signals_stop_end(void);

#endif
