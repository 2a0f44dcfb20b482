/* SPDX-License-Identifier: MIT */
/* What is set up before a command runs. */
#ifndef CARRY_TOOLS_START_H
#define CARRY_TOOLS_START_H

#include <stdbool.h>

/* Is the tool static? It then lacks what other objects in the process are needed for. */
extern const bool start_is_static;

/*
 * Has the C library print characters as the user's locale does. In a static tool it also keeps it
 * from parts of the system's C library: those that look up names, and the locales, are of another
 * version there, or of another library.
 */
void start_prepare(void);

#endif
