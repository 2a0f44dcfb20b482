/* SPDX-License-Identifier: MIT */
/* Tests `sum`: copies that survive faults, by the checks for copies that do not sum. Then tests
 * their sums when pages are removed during a copy. */
#include <carry/fault.h>
#include <carry/sum.h>

#include <string.h>
#include <sys/mman.h>

#include "harness/check_copies.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/recover.h"
#include "harness/rng.h"
#include "harness/step.h"
#include "harness/tap.h"
#include "sum/sum_choice.h"
#include "sum/sum_internal.h"

static carry_sum_copy_try_fn *tried;

/* Returns the number of bytes that the tested function leaves. Returns SIZE_MAX if there is a sum
   after a fault, or no sum without a fault. */
static size_t copy_try(void *dst, const void *src, size_t size) {
    const unsigned before = recover_count;
    const struct carry_sum_tried done = tried(dst, src, size, 0);
    return carry_sum_is_known(&done) == (recover_count == before) ? done.left : SIZE_MAX;
}

static void test_kernel(size_t index, const char *name, const struct effort *effort) {
    tried = (carry_sum_copy_try_fn *)carry_sum_copy_try_kernels.rows[index].run;
    struct verdict verdict = check_copies_faults((struct copier){.attempt = copy_try}, effort);
    verdict_report(&verdict, "%s: faults of pages between others, and signals", name);
    verdict = check_copies_races((struct copier){.attempt = copy_try}, effort);
    verdict_report(&verdict, "%s: pages that are removed meanwhile", name);
}

/* --- carry_sum_copy_try(): bytes reported as copied are summed, whenever a page is removed --- */

#define PAGE_BYTES 4096

static struct guard source, target;

static void take_source(void) {
    mprotect(source.start, PAGE_BYTES, PROT_NONE);
}

static void take_target(void) {
    mprotect(target.start, PAGE_BYTES, PROT_NONE);
}

static bool sums_what_it_copies(size_t size, size_t step, void (*take)(void), bool *reached) {
    unsigned char *to = target.end - size;
    const unsigned char *from = source.end - size;
    const uint32_t seed = (uint32_t)rng_next();
    uint32_t sum = seed;
    memset(to, 0xee, size);
    step_begin(step, take);
    const size_t left = carry_sum_copy_try(to, from, size, &sum);
    *reached = step_end();
    mprotect(source.start, PAGE_BYTES, PROT_READ | PROT_WRITE);
    mprotect(target.start, PAGE_BYTES, PROT_READ | PROT_WRITE);
    bool ok = left <= size && !memcmp(to, from, size - left) &&
              oracle_fold(sum) == oracle_sum(to, size - left, seed);
    for (size_t i = size - left; ok && take == take_source && i < size; i++)
        ok = to[i] == 0xee;
    return ok;
}

/*
 * Returns the next step to try. After the first few, steps are in loops, so fewer of them are
 * tried, except at level long.
 */
static size_t next_step(const struct effort *effort, size_t step) {
    return step + 1 + rng_below(4 + (effort->all ? 0 : step / 4));
}

static bool sums_in_races(const struct effort *effort) {
    static const size_t sizes[] = {1, 20, 60, 100, 300, 700};
    bool ok = true;
    for (size_t i = 0; ok && i < 2 * sizeof sizes / sizeof *sizes; i++) {
        bool reached = true;
        for (size_t step = 1; ok && reached && step < 1000; step = next_step(effort, step))
            ok = sums_what_it_copies(sizes[i / 2], step, i % 2 ? take_source : take_target,
                                     &reached);
    }
    return ok;
}

static void test_sums_in_races(const struct effort *effort) {
    source = guard_open(PAGE_BYTES);
    target = guard_open(PAGE_BYTES);
    memset(source.start, 0x5a, PAGE_BYTES);
    carry_fault_acquire();
    tap_ok(sums_in_races(effort), "pages are removed: the sum is that of the copied bytes");
    recover_begin();
    recover_opens_page = true;
    recover_tells_page = false; /* so that the remaining bytes are tried */
    tap_ok(sums_in_races(effort),
           "pages are returned after the fault: the sum is that of the copied bytes");
    recover_opens_page = false;
    recover_tells_page = true;
    recover_end();
    carry_fault_release();
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports faults as errors of the program");
    const struct effort *effort = effort_chosen();
    effort_note(effort);
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++)
        if (kernel.missing)
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
        else
            test_kernel(i, kernel.name, effort);
    test_sums_in_races(effort);
    return tap_done();
}
