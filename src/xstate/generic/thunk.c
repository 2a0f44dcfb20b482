/* SPDX-License-Identifier: MIT */
/* Architectures without thunks. */
#include <carry/thunk.h>

int carry_thunk_prepare(void) {
    return CARRY_ERROR_UNSUPPORTED;
}
