/* SPDX-License-Identifier: MIT */
/* Unpacks LZ4 frames with liblz4. */
#include <lz4frame.h>
#include <string.h>

#include "unpack_method.h"

static bool recognises_lz4(const uint8_t *magic) {
    return memcmp(magic, "\x04\x22\x4d\x18", 4) == 0;
}

static void *open_lz4(void) {
    LZ4F_dctx *lz4;
    return LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)) ? NULL : lz4;
}

static void close_lz4(void *state) {
    LZ4F_freeDecompressionContext(state);
}

/* Size of a block's checksum, and also of the next block's header: liblz4 prefers to get them with
   the block. */
#define WORD_BYTES 4

/*
 * Returns how many bytes to feed: never a block together with what follows it, and none while more
 * of the last block may come out. On an error in later bytes, liblz4 would drop what the same call
 * unpacked.
 */
static size_t lz4_feed(const struct unpack_stream *stream, size_t held) {
    size_t size = stream->more ? 0 : stream->wants;
    for (int words = 0; words < 2 && size > WORD_BYTES; words++)
        size -= WORD_BYTES;
    return size < held ? size : held;
}

static const char *step_lz4(struct unpack_stream *stream, struct unpack_step *step) {
    size_t in = lz4_feed(stream, step->in_size), out = step->out_size;
    size_t result = LZ4F_decompress(stream->state, step->out, &out, step->in, &in, NULL);
    step->in_used = in;
    step->out_used = out;
    if (LZ4F_isError(result))
        return LZ4F_getErrorName(result);
    stream->inside = result != 0 && (stream->inside || in > 0);
    stream->wants = result ? result : 1;
    return NULL;
}

const struct unpack_method carry_unpack_lz4 = {recognises_lz4, false, open_lz4, close_lz4,
                                               step_lz4};
