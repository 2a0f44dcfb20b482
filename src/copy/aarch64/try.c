/* SPDX-License-Identifier: MIT */
/* AArch64 has no exception table yet, and moves by portable code. */
#include "copy/generic/try.c"

void carry_copy_move_neon(void *dst, const void *src, size_t size) {
    carry_copy_move_generic(dst, src, size);
}

size_t carry_copy_try_neon(void *dst, const void *src, size_t size) {
    return carry_copy_try_generic(dst, src, size);
}
