/* SPDX-License-Identifier: MIT */
/*
 * Unpacks what was compressed, as it is read: memory does not depend on how much comes out. Streams
 * may follow one another, as all formats have it.
 */
#ifndef CARRY_CAPTURE_SRC_UNPACK_H
#define CARRY_CAPTURE_SRC_UNPACK_H

#include "input.h"

struct unpack;

/* Is what starts with these 4 bytes compressed, in a format that this build unpacks? */
bool carry_unpack_recognises(const uint8_t *magic);

/*
 * For what starts with these bytes, to be read from `packed`, which it does not touch before
 * carry_unpack_read(). NULL if there is no memory.
 */
struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed);
void carry_unpack_close(struct unpack *unpack);

/* The library that this build would need to unpack a format of this name; NULL if it needs none. */
const char *carry_unpack_lacks(const char *format);

/* An input_read_fn; `context` is the struct unpack. Returns -EBADMSG if there is a problem. */
int64_t carry_unpack_read(void *context, void *buffer, size_t size);

/* Why the stream cannot be unpacked to its end, in one line; NULL if there is no reason so far. */
const char *carry_unpack_problem(const struct unpack *unpack);

#endif
