/* SPDX-License-Identifier: MIT */
/* Compresses to Zstandard with libzstd. */
#include <stdio.h>
#include <zstd.h>

#include "common/pack_method.h"

static void *open_zstd_pack(void) {
    ZSTD_CStream *zstd = ZSTD_createCStream();
    if (zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))
        return zstd;
    ZSTD_freeCStream(zstd);
    return NULL;
}

static void close_zstd_pack(void *state) {
    ZSTD_freeCStream(state);
}

static bool step_zstd_pack(void *state, struct pack_step *step) {
    ZSTD_inBuffer in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    const size_t rest =
        ZSTD_compressStream2(state, &out, &in, step->ends ? ZSTD_e_end : ZSTD_e_continue);
    step->in_used = in.pos;
    step->out_used = out.pos;
    step->done = step->ends ? rest == 0 : in.pos == in.size;
    return !ZSTD_isError(rest);
}

static size_t unpack_head(FILE *file, void *head, size_t size) {
    uint8_t bytes[BUFSIZ];
    ZSTD_DStream *zstd = ZSTD_createDStream();
    ZSTD_outBuffer out = {head, size, 0};
    bool fine = zstd != NULL;
    while (fine && out.pos < size) {
        ZSTD_inBuffer in = {bytes, fread(bytes, 1, sizeof bytes, file), 0};
        fine = in.size > 0;
        while (fine && in.pos < in.size && out.pos < size)
            fine = !ZSTD_isError(ZSTD_decompressStream(zstd, &out, &in));
    }
    ZSTD_freeDStream(zstd);
    return out.pos;
}

static size_t head_zstd(const char *path, void *head, size_t size) {
    FILE *file = fopen(path, "rbe");
    const size_t got = file ? unpack_head(file, head, size) : 0;
    if (file)
        fclose(file);
    return got;
}

const struct pack_method pack_zstd = {open_zstd_pack, close_zstd_pack, step_zstd_pack, head_zstd};
