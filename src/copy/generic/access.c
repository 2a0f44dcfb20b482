/* SPDX-License-Identifier: MIT */
/* Without an exception table, the system makes the access. */
#include "copy/fault.h"

bool carry_read_once(void *value, const void *src, size_t size) {
    return !carry_host_copy(value, src, size);
}

bool carry_write_once(void *dst, const void *value, size_t size) {
    return !carry_host_copy(dst, value, size);
}
