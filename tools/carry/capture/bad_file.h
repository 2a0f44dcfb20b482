/* SPDX-License-Identifier: MIT */
/*
 * The packets with wrong sums of all captures, in one pcapng file: one interface for each link type
 * (and length of frame check sequence), times in nanoseconds, and where each packet comes from as
 * its comment. The file appears whole, when it is kept, or not at all.
 */
#ifndef CARRY_TOOLS_BAD_FILE_H
#define CARRY_TOOLS_BAD_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <carry/capture.h>

struct bad_file;

/* NULL with errno set: see output_problem() in output.h. */
struct bad_file *bad_file_open(const char *path);

/* Packets of a capture of this mode follow: nobody may read them who may not read the capture. */
void bad_file_restrict(struct bad_file *file, mode_t mode);

/* Would this capture be replaced if the file were kept? Then it must not be. */
bool bad_file_replaces(const struct bad_file *file, const struct stat *capture);

/* Is it what an earlier run has written there, which may be replaced? */
bool bad_file_is_earlier(const struct bad_file *file, const struct stat *capture, const char *path);

/* Appends a packet of the capture `source`; errors are told when the file is closed. */
void bad_file_add(struct bad_file *file, const char *source,
                  const struct carry_capture_packet *packet);

/* Puts the file in its place if `keep`; false with errno set, likewise, if that, or any write,
 * failed. */
bool bad_file_close(struct bad_file *file, bool keep);

#endif
