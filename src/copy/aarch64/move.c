/* SPDX-License-Identifier: MIT */
/* carry_copy_move_neon(): AArch64 uses the portable implementation. */
#include "copy/copy_internal.h"

void carry_copy_move_neon(void *dst, const void *src, size_t size) {
    carry_copy_move_generic(dst, src, size);
}
