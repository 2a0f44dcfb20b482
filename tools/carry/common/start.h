/* SPDX-License-Identifier: MIT */
/* Prepares the process before a command runs. */
#ifndef CARRY_TOOLS_START_H
#define CARRY_TOOLS_START_H

#include <stdbool.h>

/* True in a static tool, which lacks all that needs other objects in the process. */
extern const bool start_is_static;

/*
 * Selects the character set of the user's locale. A static tool then reads no files of the system's
 * C library, neither locales nor modules that look up names, as these may have another version, or
 * belong to another library.
 */
void start_prepare(void);

#endif
