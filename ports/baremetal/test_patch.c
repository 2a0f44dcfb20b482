/* SPDX-License-Identifier: MIT */
/*
 * Tests sites at every offset in a line or page, patched while the other CPU runs them: sites of
 * all kinds that may change while threads run.
 */
#include "harness/placed.h"
#include "harness/tap.h"
#include "kernel.h"

#include <carry/patch.h>

/* --- harness/placed.h --- */

static void (*runner)(void);

static void run_runner(void *unused) {
    (void)unused;
    runner();
}

size_t placed_start(void (*function)(void), size_t count) {
    runner = function;
    if (!count || cpu_count() < CPUS)
        return 0;
    cpu_run_other(run_runner, NULL);
    return 1;
}

void placed_join(void) {
    cpu_join_other();
}

void placed_yield(void) {
    cpu_pause();
}

placed_fn *placed_far(placed_fn *function) {
    (void)function;
    return NULL;
}

void test_patch(void);
void test_patch(void) {
    const struct placed_kind *kinds = placed_kinds();
    const size_t flips = kernel_option_number("flips=", 30);
    struct carry_patch_counts counts;
    tap_ok(TAP_EQ(carry_patch_apply(0), CARRY_OK), "sites of the kernel are patched");
    carry_patch_stats(&counts);
    tap_ok(TAP_TRUE(counts.sites) && TAP_TRUE(counts.direct), "%zu sites, %zu direct calls",
           counts.sites, counts.direct);
    for (size_t i = 0; i < PLACED_KINDS; i++) {
        if (kinds[i].in_text && kinds[i].length > 8)
            continue; /* several instructions: patched only while there is one CPU */
        struct verdict verdict = check_flips(&kinds[i], flips, CPUS - 1);
        verdict_report(&verdict, "%s: %zu flips of %zu sites under the other CPU", kinds[i].name,
                       flips, kinds[i].count);
    }
    tap_ok(!host_races, "nothing is written twice without all CPUs synchronised between: %u times",
           host_races);
}
