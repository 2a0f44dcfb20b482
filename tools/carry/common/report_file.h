/* SPDX-License-Identifier: MIT */
/* Where a report goes of a program that has standard output for itself. */
#ifndef CARRY_TOOLS_REPORT_FILE_H
#define CARRY_TOOLS_REPORT_FILE_H

#include <stdio.h>

/* Opens a file, or returns `otherwise` for NULL. NULL, having said why, if it cannot be opened. */
FILE *report_open(const char *path, FILE *otherwise);

/* Returns `status`, or STATUS_ERROR, having said so, if the report could not be written. */
int report_close(const char *path, FILE *stream, int status);

#endif
