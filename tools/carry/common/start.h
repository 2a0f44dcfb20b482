/* SPDX-License-Identifier: MIT */
/* Prepares the process before a command runs. */
#ifndef CARRY_TOOLS_START_H
#define CARRY_TOOLS_START_H

#include <stdbool.h>

/* True in a static tool, which lacks the functions that need shared libraries in a process. */
extern const bool start_is_static;

/*
 * Selects the character set of the user's locale. A static tool reads no files of the C library
 * that is installed, neither locales nor modules that look up names: these may belong to another
 * version, or to another C library.
 */
void start_prepare(void);

#endif
