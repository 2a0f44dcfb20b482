/* SPDX-License-Identifier: MIT */
/* Calls of the chosen kernel, where there are no sites. */
#include "copy/choice.h"

void carry_copy(void *dst, const void *src, size_t size) {
    carry_call(carry_copy)(dst, src, size);
}
