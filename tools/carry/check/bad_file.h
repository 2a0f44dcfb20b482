/* SPDX-License-Identifier: MIT */
/*
 * Writes the packets with wrong sums of all captures to one pcapng file. Packets of one link type,
 * and one length of the frame check sequence, share an interface. Times are in nanoseconds. The
 * comment of a packet names its capture and its number there. The file appears complete if
 * bad_file_close() keeps it, otherwise not at all.
 */
#ifndef CARRY_TOOLS_BAD_FILE_H
#define CARRY_TOOLS_BAD_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <carry/capture.h>

struct bad_file;

/* Opens the file. Returns NULL with errno set on failure: see output_problem() in output.h. */
struct bad_file *bad_file_open(const char *path);

/* Restricts the file's permissions to `mode`, the permissions of the capture whose packets follow.
 */
void bad_file_restrict(struct bad_file *file, mode_t mode);

/* Checks whether keeping the file would replace this capture; if so, the file must not be kept. */
bool bad_file_replaces(const struct bad_file *file, const struct stat *capture);

/* Checks whether the capture at `path` is the output that an earlier run wrote to the same place.
   If so, it may be replaced. */
bool bad_file_is_earlier(const struct bad_file *file, const struct stat *capture, const char *path);

/* Appends a packet of the capture `source`; bad_file_close() reports errors. */
void bad_file_add(struct bad_file *file, const char *source,
                  const struct carry_capture_packet *packet);

/* Publishes the file if `keep` is true, otherwise discards it. Returns false with errno set if
   publishing or an earlier write failed: see output_problem(). */
bool bad_file_close(struct bad_file *file, bool keep);

#endif
