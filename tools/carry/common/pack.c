/* SPDX-License-Identifier: MIT */
#include "common/pack.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "common/file_name.h"

#define OUT_BYTES ((size_t)128 << 10)

/* What one step consumed and produced. */
struct step {
    const uint8_t *in;
    size_t in_size, in_used, out_used;
    bool ends; /* nothing follows, */
    bool done; /* and all output that this input gives has come out */
};

struct pack {
    const struct method *method;
    z_stream gzip;
    ZSTD_CStream *zstd;
    pack_write_fn *write;
    void *context;
    uint8_t out[OUT_BYTES];
};

struct method {
    const char *extension;
    bool (*open)(struct pack *pack);
    void (*close)(struct pack *pack);
    bool (*step)(struct pack *pack, struct step *step);
};

/* --- gzip --- */

/* The largest window, and 16 for the format of gzip instead of zlib's own. */
#define GZIP_WINDOW_BITS (15 + 16)
#define GZIP_MEMORY      8 /* zlib's default */

static bool gzip_open(struct pack *pack) {
    return deflateInit2(&pack->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS,
                        GZIP_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
}

static void gzip_close(struct pack *pack) {
    deflateEnd(&pack->gzip);
}

static bool gzip_step(struct pack *pack, struct step *step) {
    z_stream *gzip = &pack->gzip;
    gzip->next_in = (Bytef *)step->in;
    gzip->avail_in = step->in_size < UINT_MAX ? (uInt)step->in_size : UINT_MAX;
    gzip->next_out = pack->out;
    gzip->avail_out = sizeof pack->out;
    const int result = deflate(gzip, step->ends ? Z_FINISH : Z_NO_FLUSH);
    step->in_used = (size_t)(gzip->next_in - step->in);
    step->out_used = sizeof pack->out - gzip->avail_out;
    step->done = step->ends ? result == Z_STREAM_END : step->in_used == step->in_size;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

/* --- zstd --- */

static bool zstd_open(struct pack *pack) {
    pack->zstd = ZSTD_createCStream();
    return pack->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_checksumFlag, 1));
}

static void zstd_close(struct pack *pack) {
    ZSTD_freeCStream(pack->zstd);
}

static bool zstd_step(struct pack *pack, struct step *step) {
    ZSTD_inBuffer in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {pack->out, sizeof pack->out, 0};
    const size_t rest =
        ZSTD_compressStream2(pack->zstd, &out, &in, step->ends ? ZSTD_e_end : ZSTD_e_continue);
    step->in_used = in.pos;
    step->out_used = out.pos;
    step->done = step->ends ? rest == 0 : in.pos == in.size;
    return !ZSTD_isError(rest);
}

/* --- Both --- */

static const struct method methods[] = {
    {"gz", gzip_open, gzip_close, gzip_step},
    {"zst", zstd_open, zstd_close, zstd_step},
};

static const struct method *find(const char *path) {
    const char *extension = file_name_extension(path);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcasecmp(methods[i].extension, extension) == 0)
            return &methods[i];
    return NULL;
}

bool pack_knows(const char *path) {
    return find(path) != NULL;
}

struct pack *pack_open(const char *path, pack_write_fn *write, void *context) {
    struct pack *pack = calloc(1, sizeof *pack);
    if (!pack)
        return NULL;
    pack->method = find(path);
    pack->write = write;
    pack->context = context;
    if (pack->method->open(pack))
        return pack;
    pack_close(pack);
    errno = ENOMEM;
    return NULL;
}

void pack_close(struct pack *pack) {
    if (pack)
        pack->method->close(pack);
    free(pack);
}

static int run(struct pack *pack, struct step *step) {
    do {
        if (!pack->method->step(pack, step))
            return ENOMEM; /* nothing else fails, of what is used here */
        step->in += step->in_used;
        step->in_size -= step->in_used;
        if (step->out_used)
            pack->write(pack->context, pack->out, step->out_used);
    } while (!step->done);
    return 0;
}

int pack_add(struct pack *pack, const void *bytes, size_t size) {
    struct step step = {.in = bytes, .in_size = size};
    return run(pack, &step);
}

int pack_end(struct pack *pack) {
    struct step step = {.in = pack->out, .ends = true};
    return run(pack, &step);
}

/* --- Reading --- */

static size_t zstd_head(FILE *file, void *head, size_t size) {
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

/* zlib reads what is not compressed as it is. */
static size_t gzip_head(const char *path, void *head, size_t size) {
    gzFile file = gzopen(path, "rbe");
    const int got = file ? gzread(file, head, (unsigned)size) : 0;
    if (file)
        gzclose(file);
    return got > 0 ? (size_t)got : 0;
}

size_t pack_head(const char *path, void *head, size_t size) {
    FILE *file = fopen(path, "rbe");
    size_t got = file ? zstd_head(file, head, size) : 0;
    if (file)
        fclose(file);
    return got ? got : gzip_head(path, head, size);
}
