/* SPDX-License-Identifier: MIT */
/* What is set up before a command runs. */
#ifndef CARRY_TOOLS_START_H
#define CARRY_TOOLS_START_H

#include <stdbool.h>

/* Is the tool static? It then lacks what other objects in the process are needed for. */
extern const bool start_is_static;

/*
 * Has text printed in the characters of the user's locale. A static tool then reads no file of the
 * system's C library, neither locales nor modules that look up names: these are of another version
 * there, or of another library.
 */
void start_prepare(void);

#endif
