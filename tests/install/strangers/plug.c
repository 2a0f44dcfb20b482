/* SPDX-License-Identifier: MIT */
/* A plugin that contains its own copy of the library. */
#include <carry/patch.h>

#define SHARED __attribute__((visibility("default")))

CARRY_OP(int, step, int);
CARRY_KEY(far);

static int one(int a) {
    return a + 1;
}
static int two(int a) {
    return a + 2;
}

CARRY_OP_DEFINE(step, one);
CARRY_KEY_DEFINE(far, false);

SHARED int plug_run(int number);
SHARED int plug_flip(int on);

int plug_run(int number) {
    return carry_call(step)(number) + (carry_unlikely(far) ? 100 : 0);
}

int plug_flip(int on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    if (on) {
        carry_set(&patch, step, two);
        carry_enable(&patch, far);
    } else {
        carry_set(&patch, step, one);
        carry_disable(&patch, far);
    }
    return carry_patch_commit(&patch);
}
