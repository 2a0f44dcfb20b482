/* SPDX-License-Identifier: MIT */
/* Captures as a command line names them, and what to say of those that cannot be read. */
#ifndef CARRY_TOOLS_SOURCE_H
#define CARRY_TOOLS_SOURCE_H

#include <sys/stat.h>

#include <carry/capture.h>

/* Opens a file, or standard input as "-"; NULL with errno set. Folders give EISDIR. */
struct carry_capture *source_open(const char *path);

/* What the system knows of the file; false with errno set. */
bool source_status(const struct carry_capture *capture, struct stat *status);

/* Does reading have to wait for whoever writes? So it is with pipes, sockets, devices. */
bool source_waits(const struct carry_capture *capture);

/* Is it a capture, of a format that is read or of another that has a magic number? */
bool source_is_capture(struct carry_capture *capture);

/* Why a function failed, with advice where there is any. */
struct carry_capture_error source_error(struct carry_capture *capture);

/* Does the input contradict its format, or have none? All other errors are failures. */
bool source_is_damaged(int code);

#endif
