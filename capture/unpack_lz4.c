/* SPDX-License-Identifier: MIT */
/* Unpacks LZ4 frames with liblz4. */
#include <lz4frame.h>
#include <string.h>

#include "bytes.h"
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

/* Size of a block's checksum, and of the next block's header: liblz4 prefers to get both with the
   block. */
#define WORD_BYTES 4

/*
 * Returns how many bytes to feed: never a block together with bytes after it, and none while the
 * last block may yield more output. On an error in later bytes, liblz4 would drop the bytes that
 * the same call unpacked.
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

/* Flags in the descriptor of a frame. */
#define HAS_DICTIONARY       0x01
#define HAS_CONTENT_CHECKSUM 0x04
#define HAS_CONTENT_SIZE     0x08
#define HAS_BLOCK_CHECKSUMS  0x10

/* The size of a block that is not compressed has this bit. */
#define BLOCK_RAW (UINT32_C(1) << 31)

static uint64_t hop_frame_header(struct unpack_hop *hop, const uint8_t *header) {
    const unsigned flags = header[4];
    hop->inside = true;
    hop->block = UINT32_C(1) << (8 + 2 * (header[5] >> 4 & 7));
    hop->after_block = flags & HAS_BLOCK_CHECKSUMS ? WORD_BYTES : 0;
    hop->after_last = flags & HAS_CONTENT_CHECKSUM ? WORD_BYTES : 0;
    return 7 + (flags & HAS_CONTENT_SIZE ? 8 : 0) + (flags & HAS_DICTIONARY ? WORD_BYTES : 0);
}

/* Hops over a block, or over the mark of the end and the checksum of all blocks. */
static uint64_t hop_block(struct unpack_hop *hop, const uint8_t *header) {
    const uint32_t size = load32_lowest(header);
    hop->inside = size != 0;
    if (!size)
        return WORD_BYTES + hop->after_last;
    hop->unpacked += hop->block;
    return (uint64_t)WORD_BYTES + (size & ~BLOCK_RAW) + hop->after_block;
}

static uint64_t hop_lz4(struct unpack_hop *hop, const uint8_t *header) {
    if (hop->inside)
        return hop_block(hop, header);
    return recognises_lz4(header) ? hop_frame_header(hop, header) : unpack_hop_skippable(header);
}

const struct unpack_method carry_unpack_lz4 = {recognises_lz4, false,    open_lz4,
                                               close_lz4,      step_lz4, hop_lz4};
