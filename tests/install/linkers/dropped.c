/* SPDX-License-Identifier: MIT */
/*
 * Sites whose records may be lost: prints the numbers of sites, of keys without a record, and of
 * sites of an unknown kind.
 */
#include "expect.h"

#include <carry/patch.h>

CARRY_OP(long, op, long);
CARRY_KEY(key);

static long twice(long a) {
    return 2 * a;
}
static long thrice(long a) {
    return 3 * a;
}

CARRY_OP_DEFINE(op, twice);
CARRY_KEY_DEFINE(key, false);

__attribute__((noinline)) static long run(long a) {
    return carry_unlikely(key) ? 0 : carry_call(op)(a);
}

int main(void) {
    struct carry_patch patch;
    struct carry_patch_counts stats;
    EXPECT(run(5), 10);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    EXPECT(run(5), 10);
    carry_patch_begin(&patch);
    carry_set(&patch, op, thrice);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(run(5), 15);
    carry_patch_begin(&patch);
    carry_enable(&patch, key);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(run(5), 0);
    carry_patch_stats(&stats);
    printf("%zu %zu %zu ", stats.sites, stats.unrecorded,
           stats.unpatched[CARRY_PATCH_UNKNOWN_KIND]);
    return result();
}
