/* SPDX-License-Identifier: MIT */
/* Files that come with the tool: beside it where it was built, or where it was installed. */
#ifndef CARRY_TOOLS_OWN_FILE_H
#define CARRY_TOOLS_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>

/* Its absolute path; false if it is in neither place. */
bool own_file_find(const char *name, char path[PATH_MAX]);

#endif
