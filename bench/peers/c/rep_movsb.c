/* SPDX-License-Identifier: MIT */
/* The instruction rep movsb. */
#include "peer.h"

static void copy(void *to, const void *data, size_t size) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(data), "+c"(size) : : "memory");
}

PEER_FUNCTION(row) = {"rep-movsb", "copy", "", PEER_COPY, {.copy = copy}};
