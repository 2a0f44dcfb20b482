/* SPDX-License-Identifier: MIT */
/*
 * Tests copies that survive faults through system calls: pages that are removed, and calls that are
 * refused.
 */
#include <carry/fault.h>
#include <carry/sum.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "harness/child.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/sandbox.h"
#include "harness/tap.h"

#define PAGE_BYTES 4096

/* --- Pages that are removed between two calls --- */

static unsigned char *going;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
                                const struct iovec *from, unsigned long from_count,
                                unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
                                const struct iovec *from, unsigned long from_count,
                                unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
                                const struct iovec *from, unsigned long from_count,
                                unsigned long flags) {
    ssize_t done = __real_process_vm_readv(pid, to, to_count, from, from_count, flags);
    if (going)
        mprotect(going, PAGE_BYTES, PROT_NONE);
    return done;
}

/* The third page of the source is missing; the second one is removed after it was copied. */
static void test_going_page(void) {
    static unsigned char to[4 * PAGE_BYTES], before[4 * PAGE_BYTES];
    struct guard from = guard_open(2 * PAGE_BYTES);
    rng_fill(from.start, 2 * PAGE_BYTES);
    rng_fill(before, sizeof before);
    memcpy(to, before, sizeof to);
    going = from.start + PAGE_BYTES;
    size_t left = carry_copy_try(to + 5, from.start + 3, 3 * PAGE_BYTES);
    going = NULL;
    mprotect(from.start + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE);
    const size_t done = 3 * PAGE_BYTES - left;
    tap_ok(TAP_GE(done, PAGE_BYTES - 3) && TAP_LE(done, 2 * PAGE_BYTES - 3) &&
               TAP_MEMEQ(to + 5, from.start + 3, done) && TAP_MEMEQ(to, before, 5) &&
               TAP_MEMEQ(to + 5 + done, before + 5 + done, left),
           "a page that is removed after it was copied counts as copied");
    guard_close(&from);
}

/* The system copies nothing in a call that names an address beyond the address space. */
static void test_end_of_addresses(void) {
    static unsigned char from[2 * PAGE_BYTES];
    const uintptr_t high = (UINT64_C(1) << 47) - 2 * PAGE_BYTES;
    unsigned char *to = mmap((void *)high, PAGE_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (to != (void *)high) {
        tap_skip("the last page", "the system does not let it be mapped");
        return;
    }
    rng_fill(from, sizeof from);
    tap_ok(TAP_EQ(carry_copy_try(to + 1, from, sizeof from), sizeof from - PAGE_BYTES + 1) &&
               TAP_MEMEQ(to + 1, from, PAGE_BYTES - 1),
           "a copy to the last page ends at its end");
    munmap(to, PAGE_BYTES);
}

/* --- Refused system calls --- */

static bool refuse_call(int call) {
    const struct sandbox_rule rule = {.call = call, .error = EPERM};
    return sandbox_filter(&rule, 1);
}

static bool refuse_readv(void) {
    return refuse_call(SYS_process_vm_readv);
}

static bool refuse_pipes(void) {
    return refuse_readv() && refuse_call(SYS_pipe2);
}

/* Copies 100 bytes, and sums them; only `good` can be accessed on one side. */
static bool copies_as_expected(unsigned char *dst, const unsigned char *src, size_t good) {
    uint32_t sum = 7;
    return carry_copy_try(dst, src, 100) == 100 - good && !memcmp(dst, src, good) &&
           carry_sum_copy_try(dst, src, 100, &sum) == 100 - good &&
           oracle_fold(sum) == oracle_sum(src, good, 7);
}

static bool copies_all_ways(void) {
    struct guard guard = guard_open(PAGE_BYTES);
    unsigned char whole[100];
    bool ok = true;
    rng_fill(guard.start, PAGE_BYTES);
    for (size_t good = 0; ok && good <= sizeof whole; good += 4) {
        memset(whole, 0xee, sizeof whole);
        ok = copies_as_expected(whole, guard.end - good, good);
        for (size_t i = good; ok && i < sizeof whole; i++)
            ok = whole[i] == 0xee;
        ok = ok && copies_as_expected(guard.end - good, whole, good);
    }
    guard_close(&guard);
    return ok;
}

static bool copies_without_readv(void) {
    return refuse_readv() && copies_all_ways();
}

static bool copies_without_pipes(void) {
    return refuse_pipes() && copies_all_ways();
}

/*
 * Checks copies where no system call can determine which memory is readable: nothing is copied
 * until carry_fault_acquire() has installed handlers, which may be refused.
 */
static bool says_that_nothing_copies(void) {
    char from[16] = "readable", to[16] = "";
    if (!refuse_pipes() || !refuse_call(SYS_socketpair) || carry_copy_try(to, from, 16) != 16 ||
        *to)
        return false;
    int error = carry_fault_acquire();
    if (error)
        return error == CARRY_ERROR_PERMISSION;
    return !carry_copy_try(to, from, 16) && !strcmp(to, from) && carry_copy_try(to, NULL, 1) == 1;
}

static volatile size_t left_by_cancelled = 1;

/* Copies eight bytes. Not inlined: sanitizers do not see that a cancelled thread leaves its
   variables. */
static __attribute__((noinline)) size_t copy_eight(void) {
    unsigned char to[8];
    return carry_copy_try(to, "seven b", sizeof to);
}

/* Copies in a cancelled thread. The thread must not end before the first point of cancellation
   after the copy. */
static void *copy_cancelled(void *unused) {
    pthread_cancel(pthread_self());
    left_by_cancelled = copy_eight();
    pthread_testcancel();
    return unused;
}

static bool copies_although_cancelled(void) {
    pthread_t thread;
    void *result = NULL;
    return refuse_readv() && !pthread_create(&thread, NULL, copy_cancelled, NULL) &&
           !pthread_join(thread, &result) && result == PTHREAD_CANCELED && !left_by_cancelled;
}

static void test_refused(void) {
    if (!child_says(NULL, refuse_readv)) {
        tap_skip("pipe", "the system has no filters of system calls");
        return;
    }
    tap_ok(child_says(NULL, copies_without_readv), "without process_vm_readv() a pipe copies");
    tap_ok(child_says(NULL, copies_although_cancelled),
           "without process_vm_readv() a pipe copies for a cancelled thread too");
    tap_ok(child_says(NULL, copies_without_pipes), "without pipes sockets copy");
    tap_ok(child_says(NULL, says_that_nothing_copies),
           "without all of them only handlers copy, and carry_fault_acquire() reports this");
}

int main(void) {
    if (fault_under_valgrind())
        return tap_skip_all("valgrind reports what the system finds out as errors");
    test_refused();
    test_going_page();
    test_end_of_addresses();
    return tap_done();
}
