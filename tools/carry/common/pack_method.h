/* SPDX-License-Identifier: MIT */
/* What pack.c asks of each file that compresses to a format: as capture/unpack_method.h. */
#ifndef CARRY_TOOLS_PACK_METHOD_H
#define CARRY_TOOLS_PACK_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one step consumed and produced. */
struct pack_step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
    bool ends; /* nothing follows, */
    bool done; /* and all output that this input gives has come out */
};

struct pack_method {
    void *(*open)(void); /* NULL if there is no memory */
    void (*close)(void *state);
    bool (*step)(void *state, struct pack_step *step); /* false if there is no memory */
    /* The first bytes of a file, unpacked, `size` at most; 0 if it is not of this format. */
    size_t (*head)(const char *path, void *head, size_t size);
};

extern const struct pack_method pack_gzip, pack_zstd;

#endif
