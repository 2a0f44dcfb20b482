/* SPDX-License-Identifier: MIT */
/* Declares what each pack_<name>.c provides to pack.c, like capture/unpack_method.h. */
#ifndef CARRY_TOOLS_PACK_METHOD_H
#define CARRY_TOOLS_PACK_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The input and output of one step. */
struct pack_step {
    const uint8_t *in;
    size_t in_size, in_used;
    uint8_t *out;
    size_t out_size, out_used;
    bool ends; /* no input follows */
    bool done; /* all output for this input was written */
};

struct pack_method {
    void *(*open)(void); /* NULL if there is no memory */
    void (*close)(void *state);
    bool (*step)(void *state, struct pack_step *step); /* false if there is no memory */
    /* Reads the first bytes of a file, unpacked, but at most `size`. Returns their number, or 0 if
       the file does not have this format. */
    size_t (*head)(const char *path, void *head, size_t size);
};

extern const struct pack_method pack_gzip, pack_zstd;

#endif
