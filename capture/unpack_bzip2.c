/* SPDX-License-Identifier: MIT */
/* Unpacks bzip2 with libbz2. */
#include <bzlib.h>
#include <stdlib.h>
#include <string.h>

#include "unpack_method.h"

static bool recognises_bzip2(const uint8_t *magic) {
    return memcmp(magic, "BZh", 3) == 0 && magic[3] >= '1' && magic[3] <= '9';
}

static void *open_bzip2(void) {
    bz_stream *bzip2 = calloc(1, sizeof *bzip2);
    if (bzip2 && BZ2_bzDecompressInit(bzip2, 0, 0) == BZ_OK)
        return bzip2;
    free(bzip2);
    return NULL;
}

static void close_bzip2(void *state) {
    BZ2_bzDecompressEnd(state);
    free(state);
}

static const char *describe_bzip2(int result) {
    switch (result) {
    case BZ_DATA_ERROR_MAGIC:
        return "unknown header";
    case BZ_MEM_ERROR:
        return "not enough memory";
    default:
        return "data error";
    }
}

static const char *step_bzip2(struct unpack_stream *stream, struct unpack_step *step) {
    bz_stream *bzip2 = stream->state;
    bzip2->next_in = (char *)step->in;
    bzip2->avail_in = unpack_at_most(step->in_size);
    bzip2->next_out = (char *)step->out;
    bzip2->avail_out = unpack_at_most(step->out_size);
    int result = BZ2_bzDecompress(bzip2);
    step->in_used = (size_t)((uint8_t *)bzip2->next_in - step->in);
    step->out_used = (size_t)((uint8_t *)bzip2->next_out - step->out);
    stream->inside |= step->in_used > 0;
    if (result == BZ_STREAM_END) {
        stream->inside = false;
        BZ2_bzDecompressEnd(bzip2);
        result = BZ2_bzDecompressInit(bzip2, 0, 0);
    }
    return result == BZ_OK ? NULL : describe_bzip2(result);
}

const struct unpack_method carry_unpack_bzip2 = {recognises_bzip2, false,      open_bzip2,
                                                 close_bzip2,      step_bzip2, NULL};
