/* SPDX-License-Identifier: MIT */
/* Opens the report of a command whose program uses standard output. */
#ifndef CARRY_TOOLS_REPORT_FILE_H
#define CARRY_TOOLS_REPORT_FILE_H

#include <stdio.h>

/* Opens a file, or returns `otherwise` for NULL. NULL after a message if it cannot be opened. */
FILE *report_open(const char *path, FILE *otherwise);

/* Returns `status`, or STATUS_ERROR after a message if the report could not be written. */
int report_close(const char *path, FILE *stream, int status);

#endif
