/* SPDX-License-Identifier: MIT */
/* Calls of the chosen kernels on architectures without sites. */
#include "copy/copy_choice.h"

void carry_copy(void *dst, const void *src, size_t size) {
    carry_call(carry_copy)(dst, src, size);
}

void carry_copy_move(void *dst, const void *src, size_t size) {
    carry_call(carry_copy_move)(dst, src, size);
}

size_t carry_copy_try_call(void *dst, const void *src, size_t size) {
    return carry_call(carry_copy_try)(dst, src, size);
}
