/* SPDX-License-Identifier: MIT */
#ifndef CARRY_TOOLS_VERSION_H
#define CARRY_TOOLS_VERSION_H

/*
 * Prints "carry " and the version in the first line, which programs read. Then prints the commit
 * that the tool was built from, the libraries that it uses with their versions, and the kernels
 * that are chosen on this CPU.
 */
void version_print(void);

/* Returns the commit that the tool was built from. */
const char *version_commit(void);

#endif
