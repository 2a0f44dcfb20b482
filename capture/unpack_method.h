/* SPDX-License-Identifier: MIT */
/* Declares the methods that each unpack_<name>.c provides for unpack.c. */
#ifndef CARRY_CAPTURE_SRC_UNPACK_METHOD_H
#define CARRY_CAPTURE_SRC_UNPACK_METHOD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bytes.h"

/* The input and output of one step. */
struct unpack_step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
};

struct unpack_stream {
    void *state;  /* state of the library */
    size_t wants; /* bytes that the library wants next, initially 1; may include some bytes after
                     the block */
    bool inside;  /* a stream has begun and not ended */
    bool more;    /* more output may be available without further input */
};

/* The largest header that a method's hop() needs. */
#define UNPACK_HEADER_BYTES 20

/* A walk over the headers of a stream, which is not unpacked. */
struct unpack_hop {
    bool inside;          /* a stream has begun and not ended */
    uint32_t block;       /* the most bytes that a block may unpack to */
    uint32_t after_block; /* size of the checksum after each block */
    uint32_t after_last;  /* bytes after the last block */
    uint64_t unpacked;    /* the most bytes that the blocks so far may unpack to */
};

struct unpack_method {
    bool (*recognises)(const uint8_t *magic); /* `magic` has 4 bytes */
    bool skips_zeros;                         /* zeros may follow each stream */
    void *(*open)(void);                      /* returns NULL if there is no memory */
    void (*close)(void *state);
    /* Unpacks some bytes. Returns NULL, or the error in the stream; the bytes unpacked before the
       error are valid. */
    const char *(*step)(struct unpack_stream *stream, struct unpack_step *step);
    /* Returns the distance from a header, of UNPACK_HEADER_BYTES with all that follows, to the next
       one of the stream or to its end. Returns 0 if the header does not say. NULL: the headers of
       the format never do. A wrong result costs time, but does no harm. */
    uint64_t (*hop)(struct unpack_hop *hop, const uint8_t *header);
};

/* Limits a size for libraries that count in an unsigned. */
static inline unsigned unpack_at_most(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

/* Checks for a frame that zstd and lz4 skip. Parallel compressors write such frames first. The low
   digit has any value. */
static inline bool unpack_is_skippable(const uint8_t *magic) {
    return (magic[0] & 0xf0) == 0x50 && memcmp(magic + 1, "\x2a\x4d\x18", 3) == 0;
}

static inline uint64_t unpack_hop_skippable(const uint8_t *header) {
    return unpack_is_skippable(header) ? UINT64_C(8) + load32_lowest(header + 4) : 0;
}

#define CARRY_UNPACKER(name, package, library, version)                                            \
    extern const struct unpack_method carry_unpack_##name;
#include "unpackers.def"
#undef CARRY_UNPACKER

#endif
