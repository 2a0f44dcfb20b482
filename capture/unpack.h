/* SPDX-License-Identifier: MIT */
/*
 * Unpacks compressed captures as they are read: memory does not depend on the unpacked size.
 * Streams may follow one another, as all formats allow.
 */
#ifndef CARRY_CAPTURE_SRC_UNPACK_H
#define CARRY_CAPTURE_SRC_UNPACK_H

#include "input.h"

struct unpack;

/* Checks whether a file that starts with these 4 bytes is compressed in a format that this build
   unpacks. */
bool carry_unpack_recognises(const uint8_t *magic);

/*
 * Opens an unpacker for a file that starts with these bytes. carry_unpack_read() reads the file
 * from `packed`, which may be filled in until then. NULL if there is no memory.
 */
struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed);
void carry_unpack_close(struct unpack *unpack);

/* Returns the library that this build would need to unpack the named format; NULL if it needs
   none. */
const char *carry_unpack_lacks(const char *format);

/* Unpacks bytes: an input_read_fn whose `context` is the struct unpack. Returns -EBADMSG after a
   problem. */
int64_t carry_unpack_read(void *context, void *buffer, size_t size);

/* Returns in one line why the stream cannot be unpacked to its end; NULL if no problem is known. */
const char *carry_unpack_problem(const struct unpack *unpack);

#endif
