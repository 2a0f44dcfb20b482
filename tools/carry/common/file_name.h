/* SPDX-License-Identifier: MIT */
/* Recognises the types that names of files claim. */
#ifndef CARRY_TOOLS_FILE_NAME_H
#define CARRY_TOOLS_FILE_NAME_H

#include <stdbool.h>

/*
 * Checks whether this is the name of a capture; it may be compressed, or numbered or dated by
 * rotation: a.pcap, a.pcapng.xz, a.pcap12, a.cap.20261123.gz. Hidden files do not count.
 */
bool file_name_is_capture(const char *path);

/* Returns the part of a name after its last dot; "" if there is none. */
const char *file_name_extension(const char *path);

/* The extensions of compressed files, up to a NULL. */
extern const char *const file_name_packings[];

/* Checks whether a name ends like that of a compressed file. */
bool file_name_is_packed(const char *path);

#endif
