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

/* Hold and release signals: between the calls, no `undo` runs in this thread, nor ever in threads
   that it starts meanwhile. */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

/*
 * Catch a first signal: between the calls, the first SIGINT or SIGTERM, or SIGHUP with `hangup`,
 * does not end the program but makes the returned descriptor readable. The next one ends it as
 * usual. Returns -1, and changes nothing, if the first one arrived earlier, or there is no free
 * descriptor.
 */
int signals_stop_begin(bool hangup);
void signals_stop_end(void);

#endif
