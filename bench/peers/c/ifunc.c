/* SPDX-License-Identifier: MIT */
/* A call of a function that a resolver chose when the process started. */
#include "callee.h"
#include "peer.h"

static size_t (*resolve(void))(size_t) {
    return peer_callee;
}

static size_t chosen(size_t count) __attribute__((ifunc("resolve")));

static size_t call(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        count = chosen(count);
    return count;
}

PEER_FUNCTION(row) = {"ifunc", "call", "", PEER_LOOP, {.loop = call}};
