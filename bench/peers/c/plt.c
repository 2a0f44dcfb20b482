/* SPDX-License-Identifier: MIT */
/* A call of a shared library's function. */
#include "callee.h"
#include "peer.h"

static size_t call(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        count = peer_callee_shared(count);
    return count;
}

PEER_FUNCTION(row) = {"plt", "call", "", PEER_LOOP, {.loop = call}};
