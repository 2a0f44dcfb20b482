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
 * from `packed`, which may be filled in until its first call. Returns NULL if there is no memory.
 */
struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed);
void carry_unpack_close(struct unpack *unpack);

/* Returns the library that this build would need to unpack the named format, or NULL if it needs
   none. */
const char *carry_unpack_lacks(const char *format);

/* Unpacks bytes: an input_read_fn whose `context` is the struct unpack. Returns -EBADMSG after a
   problem. */
int64_t carry_unpack_read(void *context, void *buffer, size_t size);

/* Returns in one line why the stream cannot be unpacked to its end, or NULL if no problem is known.
 */
const char *carry_unpack_problem(const struct unpack *unpack);

/* --- Streams that are unpacked apart from each other --- */

/* The state of carry_unpack_hop() is 0 before the first header of a stream. */
struct unpack_hop;

/* Has `read` called wherever the next bytes of `packed` begin a stream, or follow the last one. It
   may take streams from there, and provide what they unpack to; it returns 0 if it does not. */
void carry_unpack_between(struct unpack *unpack, input_read_fn *read, void *context);

/*
 * Hops over the headers of streams of the format of `unpack`: see unpack_method.h. Returns 0 if a
 * header does not say where the next one is.
 */
uint64_t carry_unpack_hop(const struct unpack *unpack, struct unpack_hop *hop,
                          const uint8_t *header);

/* Opens an unpacker of the same format, for carry_unpack_streams(). Returns NULL if there is no
   memory. */
struct unpack *carry_unpack_open_same(const struct unpack *unpack);

/*
 * Unpacks streams. Returns their size, or SIZE_MAX if these bytes are not whole streams, cannot be
 * unpacked, or unpack to `room` bytes or more: the unpacker is then of no further use.
 */
size_t carry_unpack_streams(struct unpack *unpack, const uint8_t *bytes, size_t size,
                            uint8_t *unpacked, size_t room);

#endif
