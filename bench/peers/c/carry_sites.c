/* SPDX-License-Identifier: MIT */
/* Calls and branches that this library has patched. */
#include "peer.h"

#include <carry/carry.h>

#include "callee.h"

CARRY_OP(size_t, step, size_t);
CARRY_OP_DEFINE(step, peer_callee);
CARRY_KEY(rare);
CARRY_KEY_DEFINE(rare, false);

static size_t patched_calls(size_t calls) {
    size_t count = 0;
    for (; calls; calls--)
        count = carry_call(step)(count);
    return count;
}

static size_t patched_branches(size_t calls) {
    size_t count = 0;
    for (; calls; calls--) {
        if (carry_unlikely(rare))
            return 0;
        __asm__ volatile("inc %0" : "+r"(count) : : "cc");
    }
    return count;
}

PEER_FUNCTION(call_row) = {"carry-sites/call", "call", "", PEER_LOOP, {.loop = patched_calls}};
PEER_FUNCTION(branch_row) = {
    "carry-sites/branch", "branch", "", PEER_LOOP, {.loop = patched_branches}};

__attribute__((constructor)) static void patch(void) {
    carry_patch_apply(CARRY_PATCH_QUIET);
}
