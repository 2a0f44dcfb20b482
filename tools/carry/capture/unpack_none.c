/* SPDX-License-Identifier: MIT */
/* Where zlib and libzstd are missing: nothing is recognised, so nothing is unpacked. */
#include <errno.h>

#include "capture/unpack.h"

struct unpack *unpack_open(const uint8_t *magic, struct input *packed) {
    (void)magic, (void)packed;
    return NULL;
}

void unpack_close(struct unpack *unpack) {
    (void)unpack;
}

ssize_t unpack_read(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}

const char *unpack_problem(const struct unpack *unpack) {
    (void)unpack;
    return NULL;
}
