/* SPDX-License-Identifier: MIT */
/* Opens captures that a command line names, and explains why others cannot be read. */
#ifndef CARRY_TOOLS_SOURCE_H
#define CARRY_TOOLS_SOURCE_H

#include <sys/stat.h>

#include <carry/capture.h>

/* Opens a file, or standard input for "-". Returns NULL with errno set on failure: EISDIR for a
   folder. */
struct carry_capture *source_open(const char *path);

/* Gets the file's status like fstat(). Returns false with errno set on failure. */
bool source_status(const struct carry_capture *capture, struct stat *status);

/*
 * Allows the file to be mapped if only this user and root may change it. A file that changes during
 * the check of a packet may get a wrong verdict, or end the program. carry_fault_acquire() must
 * have been called.
 */
void source_map(struct carry_capture *capture, const struct stat *status);

/* Checks whether reading may wait for a writer, as with pipes, sockets and devices. */
bool source_waits(const struct carry_capture *capture);

/* Checks whether a file has the format of captures: one that can be read, or another that is
   recognised. */
bool source_is_capture(struct carry_capture *capture);

/* Returns why a function failed, with advice if there is any. */
struct carry_capture_error source_error(struct carry_capture *capture);

/* Checks whether an error code means that the input contradicts its format, or has no known format.
   All other errors are failures. */
bool source_is_damaged(int code);

#endif
