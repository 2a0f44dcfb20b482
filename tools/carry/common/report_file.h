/* SPDX-License-Identifier: MIT */
/* Opens the report of a command whose program uses standard output. */
#ifndef CARRY_TOOLS_REPORT_FILE_H
#define CARRY_TOOLS_REPORT_FILE_H

#include <stdio.h>

/* Opens the file `path`, or returns `otherwise` if `path` is NULL. Returns NULL after a message if
   the file cannot be opened. */
FILE *report_open(const char *path, FILE *otherwise);

/* Closes a report of report_open(). Returns `status`, or STATUS_ERROR after a message if writing
   failed. */
int report_close(const char *path, FILE *stream, int status);

#endif
