/* SPDX-License-Identifier: MIT */
/* Unpacks xz with liblzma. */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "unpack_method.h"

/*
 * The most memory that a stream may require, nearly all for its window. `xz -9` needs 65 MiB. If a
 * stream requires more, users can unpack it with xz, and pipe it in.
 */
#define MEMORY_MAX (UINT64_C(72) << 20)

static bool recognises_xz(const uint8_t *magic) {
    return memcmp(magic, "\xfd\x37zX", 4) == 0;
}

static void *open_xz(void) {
    lzma_stream *xz = calloc(1, sizeof *xz);
    if (xz && lzma_stream_decoder(xz, MEMORY_MAX, 0) == LZMA_OK)
        return xz;
    free(xz);
    return NULL;
}

static void close_xz(void *state) {
    lzma_end(state);
    free(state);
}

static const char *describe_xz(lzma_ret result) {
    switch (result) {
    case LZMA_FORMAT_ERROR:
        return "unknown header";
    case LZMA_OPTIONS_ERROR:
        return "unknown options";
    case LZMA_MEM_ERROR:
        return "not enough memory";
    case LZMA_MEMLIMIT_ERROR:
        return "it needs too much memory for decompression";
    default:
        return "data error";
    }
}

static const char *step_xz(struct unpack_stream *stream, struct unpack_step *step) {
    lzma_stream *xz = stream->state;
    xz->next_in = step->in;
    xz->avail_in = step->in_size;
    xz->next_out = step->out;
    xz->avail_out = step->out_size;
    lzma_ret result = lzma_code(xz, LZMA_RUN);
    step->in_used = step->in_size - xz->avail_in;
    step->out_used = step->out_size - xz->avail_out;
    stream->inside |= step->in_used > 0;
    if (result == LZMA_STREAM_END) {
        stream->inside = false;
        result = lzma_stream_decoder(xz, MEMORY_MAX, 0);
    }
    return result == LZMA_OK || result == LZMA_BUF_ERROR ? NULL : describe_xz(result);
}

const struct unpack_method carry_unpack_xz = {recognises_xz, true,    open_xz,
                                              close_xz,      step_xz, NULL};
