/* SPDX-License-Identifier: MIT */
/* Recognises types of files by their names. */
#ifndef CARRY_TOOLS_FILE_NAME_H
#define CARRY_TOOLS_FILE_NAME_H

#include <stdbool.h>

/*
 * Checks whether `path` is named like a capture. The name may show that the capture is compressed,
 * and numbered or dated by rotation: a.pcap, a.pcapng.xz, a.pcap12, a.cap.20261123.gz. Hidden files
 * do not count.
 */
bool file_name_is_capture(const char *path);

/* Returns the part of a name after its last dot; "" if there is none. */
const char *file_name_extension(const char *path);

/* The extensions of compressed files, up to a NULL. */
extern const char *const file_name_packings[];

/* Checks whether a name ends with an extension of compressed files. */
bool file_name_is_packed(const char *path);

#endif
