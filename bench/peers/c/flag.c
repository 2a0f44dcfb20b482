/* SPDX-License-Identifier: MIT */
/* A branch on a flag in memory. */
#include <stdbool.h>

#include "peer.h"

static volatile bool flag;

static size_t test(size_t calls) {
    size_t count = 0;
    for (; calls; calls--) {
        if (__builtin_expect(flag, 0))
            return 0;
        __asm__ volatile("inc %0" : "+r"(count) : : "cc");
    }
    return count;
}

PEER_FUNCTION(row) = {"flag", "branch", "", PEER_LOOP, {.loop = test}};
