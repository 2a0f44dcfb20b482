/* SPDX-License-Identifier: MIT */
/* Where zlib and libzstd are missing: nothing is recognised, so nothing is unpacked. */
#include <errno.h>

#include "unpack.h"

struct unpack *carry_unpack_open(const uint8_t *magic, struct input *packed) {
    (void)magic, (void)packed;
    return NULL;
}

void carry_unpack_close(struct unpack *unpack) {
    (void)unpack;
}

int64_t carry_unpack_read(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    return -ENOSYS;
}

const char *carry_unpack_problem(const struct unpack *unpack) {
    (void)unpack;
    return NULL;
}
