/* SPDX-License-Identifier: MIT */
/* Opens captures that a command line names, and explains why others cannot be read. */
#ifndef CARRY_TOOLS_SOURCE_H
#define CARRY_TOOLS_SOURCE_H

#include <sys/stat.h>

#include <carry/capture.h>

/* Opens a file, or standard input for "-"; NULL with errno set, to EISDIR for a folder. */
struct carry_capture *source_open(const char *path);

/* Returns the file's status as fstat() does; false with errno set. */
bool source_status(const struct carry_capture *capture, struct stat *status);

/* Checks whether reading may wait for a writer: pipes, sockets, devices. */
bool source_waits(const struct carry_capture *capture);

/* Checks whether a file is a capture: in a format that can be read, or in another that has a magic
   number. */
bool source_is_capture(struct carry_capture *capture);

/* Returns why a function failed, with advice if there is any. */
struct carry_capture_error source_error(struct carry_capture *capture);

/* Checks whether an error code means that the input contradicts its format, or has none; all other
   errors are failures. */
bool source_is_damaged(int code);

#endif
