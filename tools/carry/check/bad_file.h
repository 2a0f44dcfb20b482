/* SPDX-License-Identifier: MIT */
/*
 * Writes the packets with wrong sums of all captures to one pcapng file: one interface for each
 * link type (and length of frame check sequence), times in nanoseconds, and the source of each
 * packet as its comment. The file appears complete when it is kept, or not at all.
 */
#ifndef CARRY_TOOLS_BAD_FILE_H
#define CARRY_TOOLS_BAD_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <carry/capture.h>

struct bad_file;

/* Opens the file; NULL with errno set: see output_problem() in output.h. */
struct bad_file *bad_file_open(const char *path);

/* Restricts the file's permissions to `mode`, those of the capture whose packets follow. */
void bad_file_restrict(struct bad_file *file, mode_t mode);

/* Checks whether keeping the file would replace this capture; then it must not be kept. */
bool bad_file_replaces(const struct bad_file *file, const struct stat *capture);

/* Checks whether the capture at `path` is the output that an earlier run wrote to the same place;
   it may be replaced. */
bool bad_file_is_earlier(const struct bad_file *file, const struct stat *capture, const char *path);

/* Appends a packet of the capture `source`; bad_file_close() reports errors. */
void bad_file_add(struct bad_file *file, const char *source,
                  const struct carry_capture_packet *packet);

/* Publishes the file if `keep`, or discards it. False with errno set if that, or any write, failed:
   see output_problem(). */
bool bad_file_close(struct bad_file *file, bool keep);

#endif
