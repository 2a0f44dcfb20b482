/* SPDX-License-Identifier: MIT */
/* Finds files that belong to the tool: in its build folder, or where it was installed. */
#ifndef CARRY_TOOLS_OWN_FILE_H
#define CARRY_TOOLS_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>

/* Writes the file's absolute path; false if it is in neither place. */
bool own_file_find(const char *name, char path[PATH_MAX]);

#endif
