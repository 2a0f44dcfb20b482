/* SPDX-License-Identifier: MIT */
#include "common/pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/file_name.h"
#include "common/pack_method.h"

#define OUT_BYTES ((size_t)128 << 10)

struct pack {
    const struct pack_method *method;
    void *state;
    pack_write_fn *write;
    void *context;
    uint8_t out[OUT_BYTES];
};

/* The build compiles a method only if it can also unpack the format. */
static const struct {
    const char *extension;
    const struct pack_method *method; /* NULL: not in this build */
} methods[] = {
    {"gz", CARRY_UNPACKS_gzip ? &pack_gzip : NULL},
    {"zst", CARRY_UNPACKS_zstd ? &pack_zstd : NULL},
};

#define METHODS (sizeof methods / sizeof *methods)

static const struct pack_method *find_method(const char *path) {
    const char *extension = file_name_extension(path);
    for (size_t i = 0; i < METHODS; i++)
        if (strcasecmp(methods[i].extension, extension) == 0)
            return methods[i].method;
    return NULL;
}

bool pack_knows(const char *path) {
    return find_method(path) != NULL;
}

struct pack *pack_open(const char *path, pack_write_fn *write, void *context) {
    struct pack *pack = calloc(1, sizeof *pack);
    if (!pack)
        return NULL;
    pack->method = find_method(path);
    pack->write = write;
    pack->context = context;
    pack->state = pack->method->open();
    if (pack->state)
        return pack;
    free(pack);
    errno = ENOMEM;
    return NULL;
}

void pack_close(struct pack *pack) {
    if (pack)
        pack->method->close(pack->state);
    free(pack);
}

static int run_steps(struct pack *pack, struct pack_step *step) {
    step->out = pack->out;
    step->out_size = sizeof pack->out;
    do {
        if (!pack->method->step(pack->state, step))
            return ENOMEM; /* the functions used here have no other failure */
        step->in += step->in_used;
        step->in_size -= step->in_used;
        if (step->out_used)
            pack->write(pack->context, pack->out, step->out_used);
    } while (!step->done);
    return 0;
}

int pack_add(struct pack *pack, const void *bytes, size_t size) {
    struct pack_step step = {.in = bytes, .in_size = size};
    return run_steps(pack, &step);
}

int pack_end(struct pack *pack) {
    struct pack_step step = {.in = pack->out, .ends = true};
    return run_steps(pack, &step);
}

/* --- Reading --- */

static size_t plain_head(const char *path, void *head, size_t size) {
    FILE *file = fopen(path, "rbe");
    const size_t got = file ? fread(head, 1, size, file) : 0;
    if (file)
        fclose(file);
    return got;
}

size_t pack_head(const char *path, void *head, size_t size) {
    size_t got = 0;
    for (size_t i = 0; i < METHODS && !got; i++)
        if (methods[i].method)
            got = methods[i].method->head(path, head, size);
    return got ? got : plain_head(path, head, size);
}
