/* SPDX-License-Identifier: MIT */
/* Finds files that are part of the tool: in its build folder, or where it was installed. */
#ifndef CARRY_TOOLS_OWN_FILE_H
#define CARRY_TOOLS_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>

/* Writes the absolute path of the file `name` to `path`; false if the file is in neither folder. */
bool own_file_find(const char *name, char path[PATH_MAX]);

#endif
