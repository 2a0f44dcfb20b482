/* SPDX-License-Identifier: MIT */
/* Tests that the sites of a module are brought up to date if it is loaded after the kernel was
   patched. */
#include "harness/tap.h"
#include "kernel.h"
#include "module.h"

static uint64_t scale_once(uint64_t number) {
    return number;
}

static uint64_t scale_twice(uint64_t number) {
    return 2 * number;
}

CARRY_OP_DEFINE(scale, scale_once);
CARRY_KEY_DEFINE(tracing, false);

static int set_both(carry_fn_scale *function, bool traces) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_set(&patch, scale, function);
    carry_patch_set(&patch, &carry_key_tracing, traces);
    return carry_patch_commit(&patch);
}

static size_t patched_count(void) {
    struct carry_patch_counts counts;
    carry_patch_stats(&counts);
    return counts.direct + counts.branches;
}

void test_module(void);
void test_module(void) {
    bool first = __start_module_sites[0].site != 0;
    tap_ok(TAP_TRUE(first) && TAP_EQ(__stop_module_sites - __start_module_sites, 2),
           "the module has two sites");
    tap_ok(TAP_EQ(set_both(scale_twice, true), 0) && TAP_EQ(module_work(4), 81),
           "before registration, its sites read memory");

    size_t before = patched_count();
    int error = carry_patch_register(__start_module_sites, __stop_module_sites);
    tap_ok(TAP_EQ(error, CARRY_OK) && TAP_EQ(patched_count(), before + 2),
           "loading patches the module's sites");
    tap_ok(TAP_EQ(module_work(4), 81), "the sites follow the kernel's current choice");
    tap_ok(TAP_EQ(set_both(scale_once, false), 0) && TAP_EQ(module_work(4), 40),
           "the sites follow later commits");

    carry_patch_unregister(__start_module_sites);
    tap_ok(TAP_EQ(patched_count(), before), "unloading removes the sites");
}
