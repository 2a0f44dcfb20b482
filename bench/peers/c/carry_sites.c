/* SPDX-License-Identifier: MIT */
/* Calls and branches that this library has patched. */
#include "peer.h"

#include <carry/carry.h>

#include "branches.h"
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

BRANCHES(patched_branches, carry_unlikely(rare))

PEER_FUNCTION(call_row) = {"carry-sites/call", "call", "", PEER_LOOP, {.loop = patched_calls}};
PEER_FUNCTION(branch_row) = {
    "carry-sites/branch", "branch", "", PEER_LOOP, {.loop = patched_branches}};

__attribute__((constructor)) static void patch(void) {
    carry_patch_apply(CARRY_PATCH_QUIET);
}
