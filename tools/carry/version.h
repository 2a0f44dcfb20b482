/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TOOLS_VERSION_H
#define CARRY_TOOLS_VERSION_H

/*
 * Prints "carry " and the version in the first line, which programs read; the commit that it was
 * built from; the libraries in it with their versions, and the kernels that run on this CPU.
 */
void version_print(void);

/* Returns the commit that the tool was built from. */
const char *version_commit(void);

#endif
