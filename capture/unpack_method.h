/* SPDX-License-Identifier: MIT */
/* What unpack.c asks of each file that unpacks a format of compression. */
#ifndef CARRY_CAPTURE_SRC_UNPACK_METHOD_H
#define CARRY_CAPTURE_SRC_UNPACK_METHOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one step consumed and produced. */
struct unpack_step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
};

struct unpack_stream {
    void *state;  /* of the library */
    size_t wants; /* bytes that the library asks for next; may include some of what follows. At
                     first 1 */
    bool inside;  /* a stream, of which the end has not come */
    bool more;    /* may come out without more going in */
};

struct unpack_method {
    bool (*recognises)(const uint8_t *magic); /* 4 bytes */
    bool skips_zeros;                         /* between streams, and behind the last */
    void *(*open)(void);                      /* NULL if there is no memory */
    void (*close)(void *state);
    /* Unpacks some; NULL, or what is wrong with the stream. What came out before that counts. */
    const char *(*step)(struct unpack_stream *stream, struct unpack_step *step);
};

/* For libraries that count in an unsigned. */
static inline unsigned unpack_at_most(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

#define CARRY_UNPACKER(name, package, library, version)                                            \
    extern const struct unpack_method carry_unpack_##name;
#include "unpackers.def"
#undef CARRY_UNPACKER

#endif
