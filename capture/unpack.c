/* SPDX-License-Identifier: MIT */
/* gzip (RFC 1952) by zlib, zstd (RFC 8878) by libzstd. */
#include "unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* What one step consumed and produced. */
struct step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
};

struct unpack {
    const struct method *method;
    struct input *packed;
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t zstd_wants; /* bytes that are next, or more than that by a header */
    bool inside;       /* a stream, of which the end has not come */
    bool more;         /* may come out without more going in */
    char problem[100];
};

struct method {
    const char *name;
    bool (*recognises)(const uint8_t *magic);
    bool (*open)(struct unpack *unpack);
    void (*close)(struct unpack *unpack);
    /* Unpacks some; NULL, or what is wrong with the stream. */
    const char *(*step)(struct unpack *unpack, struct step *step);
};

/* --- gzip --- */

/* The largest window, and 16 for the format of gzip instead of zlib's own. */
#define GZIP_WINDOW_BITS (15 + 16)

static bool gzip_recognises(const uint8_t *magic) {
    return magic[0] == 0x1f && magic[1] == 0x8b;
}

static bool gzip_open(struct unpack *unpack) {
    return inflateInit2(&unpack->gzip, GZIP_WINDOW_BITS) == Z_OK;
}

static void gzip_close(struct unpack *unpack) {
    inflateEnd(&unpack->gzip);
}

static uInt gzip_size(size_t size) {
    return size < UINT_MAX ? (uInt)size : UINT_MAX;
}

/* Zeros behind a stream fill the last block of a tape: as gzip has it, they are nothing. */
static size_t count_zeros(const uint8_t *bytes, size_t size) {
    size_t zeros = 0;
    while (zeros < size && !bytes[zeros])
        zeros++;
    return zeros;
}

static const char *gzip_step(struct unpack *unpack, struct step *step) {
    z_stream *gzip = &unpack->gzip;
    step->in_used = unpack->inside ? 0 : count_zeros(step->in, step->in_size);
    if (step->in_used)
        return NULL;
    gzip->next_in = (Bytef *)step->in;
    gzip->avail_in = gzip_size(step->in_size);
    gzip->next_out = step->out;
    gzip->avail_out = gzip_size(step->out_size);
    int result = inflate(gzip, Z_NO_FLUSH);
    step->in_used = (size_t)(gzip->next_in - step->in);
    step->out_used = (size_t)(gzip->next_out - step->out);
    unpack->inside |= step->in_used > 0;
    if (result == Z_STREAM_END) {
        unpack->inside = false;
        inflateReset(gzip);
        return NULL;
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
        return NULL;
    return gzip->msg ? gzip->msg : zError(result);
}

/* --- zstd --- */

static bool zstd_recognises(const uint8_t *magic) {
    /* Frames to skip, which parallel compressors write first, have any low digit. */
    return memcmp(magic, "\x28\xb5\x2f\xfd", 4) == 0 ||
           ((magic[0] & 0xf0) == 0x50 && memcmp(magic + 1, "\x2a\x4d\x18", 3) == 0);
}

static bool zstd_open(struct unpack *unpack) {
    unpack->zstd = ZSTD_createDStream();
    if (!unpack->zstd)
        return false;
    ZSTD_DCtx_setParameter(unpack->zstd, ZSTD_d_windowLogMax, UNPACK_WINDOW_LOG_MAX);
    unpack->zstd_wants = ZSTD_initDStream(unpack->zstd);
    return true;
}

static void zstd_close(struct unpack *unpack) {
    ZSTD_freeDStream(unpack->zstd);
}

/* The header of each block, which libzstd likes to see together with the block before. */
#define ZSTD_BLOCK_HEADER_BYTES 3

/*
 * No more than a block at a time, and nothing while more of the last may come out: where something
 * is wrong with the next, libzstd drops what came out in the same call, packets before the damage.
 */
static size_t zstd_in_size(const struct unpack *unpack, size_t held) {
    size_t size = unpack->more ? 0 : unpack->zstd_wants;
    if (size > ZSTD_BLOCK_HEADER_BYTES)
        size -= ZSTD_BLOCK_HEADER_BYTES;
    return size < held ? size : held;
}

static const char *zstd_step(struct unpack *unpack, struct step *step) {
    ZSTD_inBuffer in = {step->in, zstd_in_size(unpack, step->in_size), 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    size_t result = ZSTD_decompressStream(unpack->zstd, &out, &in);
    step->in_used = in.pos;
    step->out_used = out.pos;
    if (ZSTD_isError(result))
        return ZSTD_getErrorName(result);
    unpack->inside = result != 0 && (unpack->inside || in.pos > 0);
    unpack->zstd_wants = result ? result : 1;
    return NULL;
}

/* --- Both --- */

static const struct method methods[] = {
    {"gzip", gzip_recognises, gzip_open, gzip_close, gzip_step},
    {"zstd", zstd_recognises, zstd_open, zstd_close, zstd_step},
};

struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed) {
    const struct method *method = methods;
    const struct method *end = methods + sizeof methods / sizeof *methods;
    while (method < end && !method->recognises(magic))
        method++;
    if (method == end)
        return NULL;
    struct unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return NULL;
    unpack->method = method;
    unpack->packed = packed;
    if (method->open(unpack))
        return unpack;
    free(unpack);
    return NULL;
}

void carry_unpack_close(struct unpack *unpack) {
    unpack->method->close(unpack);
    free(unpack);
}

const char *carry_unpack_problem(const struct unpack *unpack) {
    return *unpack->problem ? unpack->problem : NULL;
}

static bool step(struct unpack *unpack, struct step *step) {
    struct input *packed = unpack->packed;
    step->in = packed->at;
    step->in_size = carry_input_held(packed);
    const char *wrong = unpack->method->step(unpack, step);
    packed->at += step->in_used;
    unpack->more = step->out_used == step->out_size;
    if (wrong)
        snprintf(unpack->problem, sizeof unpack->problem, "corrupt %s stream: %s",
                 unpack->method->name, wrong);
    return !wrong;
}

/* False at the end, or where the file cannot be read. */
static bool read_packed(struct unpack *unpack) {
    if (carry_input_peek(unpack->packed, 1))
        return true;
    if (!unpack->packed->error && unpack->inside && !unpack->packed->stopped)
        snprintf(unpack->problem, sizeof unpack->problem, "cut %s stream", unpack->method->name);
    return false;
}

int64_t carry_unpack_read(void *context, void *buffer, size_t size) {
    struct unpack *unpack = context;
    struct step present = {.out = buffer, .out_size = size};
    bool fine = !*unpack->problem;
    while (fine && !present.out_used)
        fine = (unpack->more || read_packed(unpack)) && step(unpack, &present);
    if (present.out_used)
        return (int64_t)present.out_used;
    if (!*unpack->problem)
        return -unpack->packed->error;
    return -EBADMSG;
}
