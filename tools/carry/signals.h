/* SPDX-License-Identifier: MIT */
/*
 * What is undone before a signal ends the program: files that are not whole are removed, lines that
 * are not for good are wiped off the terminal.
 */
#ifndef CARRY_TOOLS_SIGNALS_H
#define CARRY_TOOLS_SIGNALS_H

#include <signal.h>

/* Has `undo` called from now on; once, however often it is asked for. It runs in a handler. */
void signals_undo(void (*undo)(void));

/* No `undo` runs between these two in this thread, nor later in threads that it starts between. */
void signals_hold(sigset_t *before);
void signals_release(const sigset_t *before);

#endif
