/* SPDX-License-Identifier: MIT */
/* Unpacks gzip (RFC 1952) with zlib. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bytes.h"
#include "unpack_method.h"

/* The largest window (15). Adding 16 selects the gzip format instead of zlib's own. */
#define WINDOW_BITS (15 + 16)

/* Recognises gzip, whose only compression method is deflate. */
static bool recognises_gzip(const uint8_t *magic) {
    return magic[0] == 0x1f && magic[1] == 0x8b && magic[2] == Z_DEFLATED;
}

static void *open_gzip(void) {
    z_stream *gzip = calloc(1, sizeof *gzip);
    if (gzip && inflateInit2(gzip, WINDOW_BITS) == Z_OK)
        return gzip;
    free(gzip);
    return NULL;
}

static void close_gzip(void *state) {
    inflateEnd(state);
    free(state);
}

static const char *step_gzip(struct unpack_stream *stream, struct unpack_step *step) {
    z_stream *gzip = stream->state;
    gzip->next_in = (Bytef *)step->in;
    gzip->avail_in = unpack_at_most(step->in_size);
    gzip->next_out = step->out;
    gzip->avail_out = unpack_at_most(step->out_size);
    int result = inflate(gzip, Z_NO_FLUSH);
    step->in_used = (size_t)(gzip->next_in - step->in);
    step->out_used = (size_t)(gzip->next_out - step->out);
    stream->inside |= step->in_used > 0;
    if (result == Z_STREAM_END) {
        stream->inside = false;
        inflateReset(gzip);
        return NULL;
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
        return NULL;
    return gzip->msg ? gzip->msg : zError(result);
}

/* The most bytes that a block of BGZF may unpack to. */
#define BGZF_BLOCK_BYTES ((uint32_t)64 << 10)

/*
 * Hops over a block of BGZF (SAM/BAM specification, 4.1), as bgzip writes it: a member whose extra
 * field has one subfield, the block's size less 1. Other members do not say where they end.
 */
static uint64_t hop_gzip(struct unpack_hop *hop, const uint8_t *header) {
    if (memcmp(header, "\x1f\x8b\x08\x04", 4) != 0 || memcmp(header + 10, "\6\0BC\2\0", 6) != 0)
        return 0;
    hop->unpacked += BGZF_BLOCK_BYTES;
    return load16_lowest(header + 16) + UINT64_C(1);
}

const struct unpack_method carry_unpack_gzip = {recognises_gzip, true,      open_gzip,
                                                close_gzip,      step_gzip, hop_gzip};
