/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include "../linkers/expect.h"

#ifdef CARRY_ALT_EXCESS
#define HAS_SITES 1
#else
#define HAS_SITES 0
#endif

static unsigned long one(unsigned long number) {
    CARRY_BODY(one, "lea 1(%%rdi), %%rax");
    return number + 1;
}
static unsigned long two(unsigned long number) {
    return number + 2;
}

CARRY_OP_DEFINE(step, two);
CARRY_KEY_DEFINE(shared, false);

int main(void) {
    struct carry_patch patch;
    struct carry_patch_counts stats;
    EXPECT(use_elsewhere(), 1);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    EXPECT((long)carry_call(step)(4), 6);
    carry_patch_begin(&patch);
    carry_enable(&patch, shared);
    carry_set(&patch, step, one);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(use_elsewhere(), HAS_SITES ? 2 : 1);
    EXPECT((long)carry_call(step)(4), 5);
    carry_patch_stats(&stats);
    EXPECT((long)stats.unrecorded, HAS_SITES ? 0 : 2);
    EXPECT((long)stats.inlined, 2 * HAS_SITES);
    EXPECT(stats.alternatives >= HAS_SITES, 1);
    return result();
}
