/* SPDX-License-Identifier: MIT */
/*
 * What is undone before a signal ends the program: files that are not whole are removed, lines that
 * are not for good are wiped off the terminal. And a first Ctrl-C that ends only what is being
 * read.
 */
#ifndef CARRY_TOOLS_SIGNALS_H
#define CARRY_TOOLS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Has `undo` called from now on; once, however often it is asked for. It runs in a handler. */
void signals_undo(void (*undo)(void));

/* No `undo` runs between these two in this thread, nor later in threads that it starts between. */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

/*
 * Between these two, the first SIGINT or SIGTERM, or SIGHUP with `hangup`, does not end the
 * program: it makes the descriptor that is returned readable. The next one ends it as ever. Returns
 * -1, and changes nothing, if the first one has come before, or there is no descriptor left.
 */
int signals_stop_begin(bool hangup);
void signals_stop_end(void);

#endif
