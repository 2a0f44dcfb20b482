/* SPDX-License-Identifier: MIT */
/* A call through a pointer in memory. */
#include "callee.h"
#include "peer.h"

static size_t (*volatile pointer)(size_t) = peer_callee;

static size_t call(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        count = pointer(count);
    return count;
}

PEER_FUNCTION(row) = {"pointer", "call", "", PEER_LOOP, {.loop = call}};
