/* SPDX-License-Identifier: MIT */
/*
 * Unpacks what gzip or zstd compressed, as it is read: memory does not depend on how much comes
 * out. Streams may follow one another, as both formats have it.
 */
#ifndef CARRY_TOOLS_UNPACK_H
#define CARRY_TOOLS_UNPACK_H

#include "capture/input.h"

/*
 * The most memory that a zstd stream may ask for to look back into. `zstd --long=27` and --ultra
 * ask for more; what is unpacked elsewhere can be piped in.
 */
#define UNPACK_WINDOW_LOG_MAX 25

struct unpack;

/*
 * For what starts with these 4 bytes, to be read from `packed`, which it does not touch before
 * unpack_read(). NULL if they are not known, or there is no memory.
 */
struct unpack *unpack_open(const uint8_t *magic, struct input *packed);
void unpack_close(struct unpack *unpack);

/* An input_read_fn; `context` is the struct unpack. Fails with EBADMSG if there is a problem. */
ssize_t unpack_read(void *context, void *buffer, size_t size);

/* Why the stream cannot be unpacked to its end, in one line; NULL if there is no reason so far. */
const char *unpack_problem(const struct unpack *unpack);

#endif
