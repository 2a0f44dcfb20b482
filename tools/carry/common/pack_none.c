/* SPDX-License-Identifier: MIT */
/* Without zlib and libzstd. */
#include <errno.h>
#include <stdio.h>

#include "common/pack.h"

bool pack_knows(const char *path) {
    (void)path;
    return false;
}

struct pack *pack_open(const char *path, pack_write_fn *write, void *context) {
    (void)path;
    (void)write;
    (void)context;
    errno = ENOTSUP;
    return NULL;
}

void pack_close(struct pack *pack) {
    (void)pack;
}

int pack_add(struct pack *pack, const void *bytes, size_t size) {
    (void)pack;
    (void)bytes;
    (void)size;
    return ENOTSUP;
}

int pack_end(struct pack *pack) {
    (void)pack;
    return ENOTSUP;
}

size_t pack_head(const char *path, void *head, size_t size) {
    FILE *file = fopen(path, "rbe");
    const size_t got = file ? fread(head, 1, size, file) : 0;
    if (file)
        fclose(file);
    return got;
}
