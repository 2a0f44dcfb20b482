/* SPDX-License-Identifier: MIT */
/* Architectures without a fault table: no host recovers, and the system makes all accesses. */
#include "copy/copy_fault.h"

bool carry_read_once(void *value, const void *src, size_t size) {
    (void)value;
    (void)src;
    (void)size;
    return false;
}

bool carry_write_once(void *dst, const void *value, size_t size) {
    (void)dst;
    (void)value;
    (void)size;
    return false;
}
