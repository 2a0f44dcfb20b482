/* SPDX-License-Identifier: MIT */
/* Unpacks zstd (RFC 8878) with libzstd. */
#include <string.h>
#include <zstd.h>

#include "bytes.h"
#include "unpack_method.h"

/*
 * The largest window that a stream may require: 32 MiB. `zstd --long=27` and `--ultra -22` require
 * more. Users can unpack such streams with the program zstd, and pipe them in.
 */
#define WINDOW_LOG_MAX 25

/* Checks for a frame of compressed data. */
static bool is_frame(const uint8_t *magic) {
    return memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0;
}

static bool recognises_zstd(const uint8_t *magic) {
    return is_frame(magic) || unpack_is_skippable(magic);
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

/* Size of a block's header: libzstd prefers to get it with the previous block. */
#define BLOCK_HEADER_BYTES 3

/*
 * Returns how many bytes to feed: at most a block, and none while the last block may yield more
 * output. On an error in the next block, libzstd would drop the bytes that the same call unpacked:
 * packets before the damage.
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

#define BLOCK_BYTES_MAX ((uint32_t)128 << 10)

enum block_type { BLOCK_RAW, BLOCK_RUN, BLOCK_COMPRESSED, BLOCK_RESERVED };

static uint64_t hop_frame_header(struct unpack_hop *hop, const uint8_t *header) {
    const unsigned flags = header[4];
    const unsigned single = flags >> 5 & 1; /* there is no size of the window */
    const unsigned dictionary = 1u << (flags & 3) >> 1;
    const unsigned content = flags >> 6 ? 1u << (flags >> 6) : single;
    hop->inside = true;
    hop->after_last = flags & 4; /* with a checksum of 4 bytes */
    return 6 - single + dictionary + content;
}

static uint64_t hop_block(struct unpack_hop *hop, const uint8_t *header) {
    const uint32_t block = load32_lowest(header) & 0xffffff, size = block >> 3;
    const enum block_type type = block >> 1 & 3;
    if (type == BLOCK_RESERVED)
        return 0;
    hop->inside = !(block & 1);
    hop->unpacked += type == BLOCK_COMPRESSED ? BLOCK_BYTES_MAX : size;
    return BLOCK_HEADER_BYTES + (type == BLOCK_RUN ? 1 : size) +
           (hop->inside ? 0 : hop->after_last);
}

static uint64_t hop_zstd(struct unpack_hop *hop, const uint8_t *header) {
    if (hop->inside)
        return hop_block(hop, header);
    return is_frame(header) ? hop_frame_header(hop, header) : unpack_hop_skippable(header);
}

const struct unpack_method carry_unpack_zstd = {recognises_zstd, false,     open_zstd,
                                                close_zstd,      step_zstd, hop_zstd};
