/* SPDX-License-Identifier: MIT */
/* Unpacks zstd (RFC 8878) with libzstd. */
#include <string.h>
#include <zstd.h>

#include "unpack_method.h"

/*
 * The largest window that a stream may require: 32 MiB. `zstd --long=27` and --ultra require more.
 * Users can unpack such streams elsewhere and pipe them in.
 */
#define WINDOW_LOG_MAX 25

static bool recognises_zstd(const uint8_t *magic) {
    /* Skippable frames, which parallel compressors write first, have any low digit. */
    return memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0 ||
           ((magic[0] & 0xf0) == 0x50 && memcmp(magic + 1, "\x2a\x4d\x18", 3) == 0);
}

static void *open_zstd(void) {
    ZSTD_DStream *zstd = ZSTD_createDStream();
    if (zstd)
        ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
    return zstd;
}

static void close_zstd(void *state) {
    ZSTD_freeDStream(state);
}

/* Size of a block's header: libzstd prefers to get it with the block before. */
#define BLOCK_HEADER_BYTES 3

/*
 * Returns how many bytes to feed: at most a block, and none while more of the last block may come
 * out. On an error in the next block, libzstd would drop what the same call unpacked: packets
 * before the damage.
 */
static size_t zstd_feed(const struct unpack_stream *stream, size_t held) {
    size_t size = stream->more ? 0 : stream->wants;
    if (size > BLOCK_HEADER_BYTES)
        size -= BLOCK_HEADER_BYTES;
    return size < held ? size : held;
}

static const char *step_zstd(struct unpack_stream *stream, struct unpack_step *step) {
    ZSTD_inBuffer in = {step->in, zstd_feed(stream, step->in_size), 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    size_t result = ZSTD_decompressStream(stream->state, &out, &in);
    step->in_used = in.pos;
    step->out_used = out.pos;
    if (ZSTD_isError(result))
        return ZSTD_getErrorName(result);
    stream->inside = result != 0 && (stream->inside || in.pos > 0);
    stream->wants = result ? result : 1;
    return NULL;
}

const struct unpack_method carry_unpack_zstd = {recognises_zstd, false, open_zstd, close_zstd,
                                                step_zstd};
