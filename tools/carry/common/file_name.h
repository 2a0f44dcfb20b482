/* SPDX-License-Identifier: MIT */
/* What the names of files claim. */
#ifndef CARRY_TOOLS_FILE_NAME_H
#define CARRY_TOOLS_FILE_NAME_H

#include <stdbool.h>

/*
 * Is this what captures are called? Also packed ones, and those that rotation has numbered or
 * dated: a.pcap, a.pcapng.xz, a.pcap12, a.cap.20261123.gz. Hidden files are none.
 */
bool file_name_is_capture(const char *path);

/* The part of a name after its last dot; "" if there is none. */
const char *file_name_extension(const char *path);

/* The extensions of compressed files, up to a NULL. */
extern const char *const file_name_packings[];

/* Does it end like the name of a compressed file? */
bool file_name_is_packed(const char *path);

#endif
