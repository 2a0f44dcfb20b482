/* SPDX-License-Identifier: MIT */
/* Declares what each unpack_<name>.c provides to unpack.c. */
#ifndef CARRY_CAPTURE_SRC_UNPACK_METHOD_H
#define CARRY_CAPTURE_SRC_UNPACK_METHOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input and output of one step. */
struct unpack_step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
};

struct unpack_stream {
    void *state;  /* of the library */
    size_t wants; /* bytes that the library wants next, initially 1; may include some of what
                     follows the block */
    bool inside;  /* a stream has begun and not ended */
    bool more;    /* more output may be available without further input */
};

struct unpack_method {
    bool (*recognises)(const uint8_t *magic); /* 4 bytes */
    bool skips_zeros;                         /* between streams, and after the last */
    void *(*open)(void);                      /* NULL if there is no memory */
    void (*close)(void *state);
    /* Unpacks some bytes. Returns NULL, or the error in the stream; what was unpacked before it is
       valid. */
    const char *(*step)(struct unpack_stream *stream, struct unpack_step *step);
};

/* Limits a size for libraries that count in an unsigned. */
static inline unsigned unpack_at_most(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

#define CARRY_UNPACKER(name, package, library, version)                                            \
    extern const struct unpack_method carry_unpack_##name;
#include "unpackers.def"
#undef CARRY_UNPACKER

#endif
