/* SPDX-License-Identifier: MIT */
/* An object that exports an operation and a key, and has another operation of its own. */
#include "share.h"

CARRY_KEY(mode);

static long share_add(long a) {
    return a + 1;
}
static long share_subtract(long a) {
    return a - 1;
}

/* Returns the result of an operation that is not resolved. The operation must be resolved before
   sites are patched, although this object has no site of it. */
static long undecided(long a) {
    (void)a;
    return -1;
}
static uintptr_t choose(void) {
    return (uintptr_t)share_subtract;
}

CARRY_OP_DEFINE_RESOLVED(share_choice, undecided, choose);
CARRY_OP_EXPORT(share_choice);
CARRY_OP_DEFINE(share_op, share_add);
CARRY_KEY_DEFINE(share_key, false);
CARRY_KEY_DEFINE(mode, false);
CARRY_OP_EXPORT(share_op);
CARRY_KEY_EXPORT(share_key);

long share_run(long a) {
    return carry_unlikely(share_key) ? -carry_call(share_op)(a) : carry_call(share_op)(a);
}

bool share_mode(void) {
    return carry_likely(mode);
}

int share_set(bool subtract, bool negate) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, share_op, subtract ? share_subtract : share_add);
    carry_patch_set(&patch, &carry_key_share_key, negate);
    return carry_patch_commit(&patch);
}

int share_set_mode(bool on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, &carry_key_mode, on);
    return carry_patch_commit(&patch);
}

#ifdef SHARE_APPLIES
static __attribute__((constructor)) void apply(void) {
    carry_patch_apply(0);
}
#endif
