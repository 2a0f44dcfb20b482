/* SPDX-License-Identifier: MIT */
/* A branch on a flag in memory. */
#include <stdbool.h>

#include "branches.h"
#include "peer.h"

static volatile bool flag;

BRANCHES(test, __builtin_expect(flag, 0))

PEER_FUNCTION(row) = {"flag", "branch", "", PEER_LOOP, {.loop = test}};
