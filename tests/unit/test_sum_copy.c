/* SPDX-License-Identifier: MIT */
/*
 * Tests copies that compute the sum of the copied bytes: the forms of every kernel, and the
 * functions around them.
 */
#include <stdio.h>
#include <string.h>

#include <carry/fault.h>
#include <carry/sum.h>

#include "harness/call.h"
#include "harness/check_sum_copy.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/tap.h"
#include "sum/sum_choice.h"
#include "sum/sum_internal.h"

static const struct effort *effort;

/* The tested form that survives faults. copy_try() calls it, and returns only the number of bytes
   left. */
static carry_sum_copy_try_fn *tried;

static size_t copy_try(void *dst, const void *src, size_t size, uint32_t *sum) {
    struct carry_sum_tried done = tried(dst, src, size, *sum);
    if (carry_sum_is_known(&done))
        *sum = (uint32_t)done.sum;
    return done.left;
}

static uint32_t copy_without_fault(void *dst, const void *src, size_t size, uint32_t sum) {
    return copy_try(dst, src, size, &sum) ? 0 : sum;
}

static uint32_t copy_returning_left(void *dst, const void *src, size_t size, uint32_t sum) {
    return (uint32_t)tried(dst, src, size, sum).left;
}

/* Checks that registers follow the calling convention after a fault in any part of a kernel. */
static struct verdict check_abi_after_fault(void) {
    static unsigned char data[5000];
    static const size_t sizes[] = {2, 7, 20, 45, 60, 100, 300, 1500, 5000};
    struct verdict verdict = {.ok = true};
    struct guard guard = guard_open(sizeof data);
    carry_fault_acquire();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && verdict.ok; i++)
        for (size_t left = 1; left <= sizes[i] && verdict.ok; left++) {
            unsigned char *end = guard.end - (sizes[i] - left);
            if (call_checked_sum_copy(copy_returning_left, data, end, sizes[i], 1, &verdict) !=
                    left ||
                call_checked_sum_copy(copy_returning_left, end, data, sizes[i], 1, &verdict) !=
                    left)
                verdict_fail(&verdict, "returns the wrong number of bytes left");
        }
    carry_fault_release();
    guard_close(&guard);
    return verdict;
}

/* Returns whether no byte is copied from or to a non-canonical address. The CPU does not report the
   address of such a fault. */
static bool nowhere_is_left(size_t size) {
    unsigned char bytes[300], before[300];
    void *nowhere = (void *)(UINTPTR_MAX / 2 + 1);
    uint32_t sum = 0;
    rng_fill(bytes, sizeof bytes);
    memcpy(before, bytes, sizeof bytes);
    carry_fault_acquire();
    bool ok = copy_try(bytes, nowhere, size, &sum) == size &&
              copy_try(nowhere, bytes, size, &sum) == size;
    carry_fault_release();
    return ok && !memcmp(bytes, before, sizeof bytes);
}

static void test_try(size_t index, const char *name) {
    tried = (carry_sum_copy_try_fn *)carry_sum_copy_try_kernels.rows[index].run;
    if (carry_fault_acquire() != CARRY_OK) {
        tap_skip(name, "no copy survives faults on this machine");
        return;
    }
    carry_fault_release();
    sum_copy_check_all(copy_without_fault, effort, name);
    if (fault_under_valgrind()) {
        tap_skip(name, "valgrind reports every fault as an error");
        return;
    }
    struct verdict verdict = check_sum_copy_try(copy_try, effort);
    verdict_report(&verdict, "%s: faults", name);
    verdict = check_abi_after_fault();
    verdict_report(&verdict, "%s: calling convention after faults", name);
    bool ok = true;
    for (size_t size = 0; size <= 300; size++)
        ok = ok && nowhere_is_left(size);
    tap_ok(ok, "%s: non-canonical addresses leave all bytes", name);
}

static bool chosen_together(size_t index) {
    return carry_op_carry_sum.value == carry_sum_kernels.rows[index].run &&
           carry_op_carry_sum_copy.value == carry_sum_copy_kernels.rows[index].run &&
           carry_op_carry_sum_copy_try.value == carry_sum_copy_try_kernels.rows[index].run;
}

static bool chosen_copies(void) {
    unsigned char src[100], dst[100];
    rng_fill(src, sizeof src);
    uint32_t sum = carry_sum_copy(dst, src, sizeof src, 1);
    return !memcmp(dst, src, sizeof src) && oracle_fold(sum) == oracle_sum(src, sizeof src, 1);
}

static void test_kernels(void) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++) {
        char name[64];
        if (kernel.missing) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing);
            continue;
        }
        snprintf(name, sizeof name, "copy by %s", kernel.name);
        sum_copy_check_all(kernel.copy, effort, name);
        snprintf(name, sizeof name, "surviving copy by %s", kernel.name);
        test_try(i, name);
        tap_ok(TAP_EQ(carry_sum_select(kernel.name), CARRY_OK) && TAP_TRUE(chosen_together(i)) &&
                   TAP_TRUE(chosen_copies()),
               "%s is selected in all its forms", kernel.name);
        struct verdict verdict = check_sum_copy_iov(carry_sum_copy_iov, effort);
        verdict_report(&verdict, "carry_sum_copy_iov by %s", kernel.name);
    }
    carry_sum_select(NULL);
}

int main(void) {
    effort = effort_chosen();
    effort_note(effort);
    rng_restart();
    if (call_limits())
        tap_note("calling convention: %s", call_limits());
    test_kernels();
    struct verdict verdict = check_sum_copy_alignments(carry_sum_copy, &effort_short);
    verdict_report(&verdict, "carry_sum_copy by the best kernel");
    return tap_done();
}
