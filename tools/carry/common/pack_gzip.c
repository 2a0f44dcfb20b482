/* SPDX-License-Identifier: MIT */
/* Compresses to gzip with zlib. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/pack_method.h"

/* The largest window; 16 selects the gzip format instead of zlib's own. */
#define WINDOW_BITS (15 + 16)
#define MEMORY      8 /* zlib's default */

static void *open_gzip_pack(void) {
    z_stream *gzip = calloc(1, sizeof *gzip);
    if (gzip && deflateInit2(gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY,
                             Z_DEFAULT_STRATEGY) == Z_OK)
        return gzip;
    free(gzip);
    return NULL;
}

static void close_gzip_pack(void *state) {
    deflateEnd(state);
    free(state);
}

static unsigned zlib_at_most(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

static bool step_gzip_pack(void *state, struct pack_step *step) {
    z_stream *gzip = state;
    gzip->next_in = (Bytef *)step->in;
    gzip->avail_in = zlib_at_most(step->in_size);
    gzip->next_out = step->out;
    gzip->avail_out = zlib_at_most(step->out_size);
    const int result = deflate(gzip, step->ends ? Z_FINISH : Z_NO_FLUSH);
    step->in_used = (size_t)(gzip->next_in - step->in);
    step->out_used = (size_t)(gzip->next_out - step->out);
    step->done = step->ends ? result == Z_STREAM_END : step->in_used == step->in_size;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

static size_t head_gzip(const char *path, void *head, size_t size) {
    gzFile file = gzopen(path, "rbe");
    const int got = file && !gzdirect(file) ? gzread(file, head, zlib_at_most(size)) : 0;
    if (file)
        gzclose(file);
    return got > 0 ? (size_t)got : 0;
}

const struct pack_method pack_gzip = {open_gzip_pack, close_gzip_pack, step_gzip_pack, head_gzip};
