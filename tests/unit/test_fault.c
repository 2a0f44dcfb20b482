/* SPDX-License-Identifier: MIT */
/*
 * Tests copies and accesses that survive faults. They run twice: with the handlers of
 * carry_fault_acquire(), and without them, where the system copies.
 */
#include <carry/fault.h>
#include <carry/sum.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault_host.h"
#include "copy/copy_fault.h"
#include "harness/call.h"
#include "harness/child.h"
#include "harness/cpu.h"
#include "harness/effort.h"
#include "harness/fault.h"
#include "harness/guard.h"
#include "harness/oracle.h"
#include "harness/rng.h"
#include "harness/tap.h"

static const struct effort *effort;
static const char *way; /* "handlers" or "system" */

/* --- Signals: each is counted where it is handled --- */

static _Thread_local unsigned signals;

uintptr_t __real_carry_fault_find(uintptr_t instruction, uintptr_t *value);
uintptr_t __wrap_carry_fault_find(uintptr_t instruction, uintptr_t *value);

static _Thread_local uintptr_t handler_stack;

uintptr_t __wrap_carry_fault_find(uintptr_t instruction, uintptr_t *value) {
    signals++;
    handler_stack = (uintptr_t)__builtin_frame_address(0);
    return __real_carry_fault_find(instruction, value);
}

/* --- Functions that copy --- */

struct copier {
    const char *name;
    size_t (*copy)(void *dst, const void *src, size_t size, uint32_t *sum);
    bool sums;
};

static size_t copy_alone(void *dst, const void *src, size_t size, uint32_t *sum) {
    (void)sum;
    return carry_copy_try(dst, src, size);
}

static const struct copier copiers[] = {
    {"carry_copy_try", copy_alone, false},
    {"carry_sum_copy_try", carry_sum_copy_try, true},
};
static const struct copier *const copiers_end = copiers + sizeof copiers / sizeof *copiers;

/*
 * Copies and sums `size` bytes, of which only the first `good` can be accessed. Checks the number
 * of bytes left, and that one signal is raised if there are any.
 */
static bool copies_as_expected(const struct copier *copier, void *dst, const void *src, size_t size,
                               size_t good) {
    const uint32_t seed = (uint32_t)rng_next();
    const unsigned expected = carry_host_recovers(CARRY_HOST_COPIES) && good < size;
    const unsigned before = signals;
    uint32_t sum = seed;
    return copier->copy(dst, src, size, &sum) == size - good && signals - before == expected &&
           (!good || !memcmp(dst, src, good)) &&
           (!copier->sums || oracle_fold(sum) == oracle_sum(src, good, seed));
}

/* --- Copies: every distance of the fault from the start --- */

enum side { SOURCE, DESTINATION };

/*
 * Checks a copy of `size` bytes where only `good` can be accessed on one side; the other side is
 * complete.
 */
static bool copy_faults(const struct copier *copier, enum side side, size_t size, size_t good,
                        size_t alignment) {
    unsigned char whole[2048];
    unsigned char before[2048];
    struct guard guard = guard_open(4096);
    unsigned char *cut = guard.end - good;
    unsigned char *other = whole + alignment;
    rng_fill(whole, sizeof whole);
    rng_fill(guard.start, (size_t)(guard.end - guard.start));
    memcpy(before, whole, sizeof whole);
    unsigned char *dst = side == SOURCE ? other : cut;
    const unsigned char *src = side == SOURCE ? cut : other;

    bool ok = copies_as_expected(copier, dst, src, size, good);
    if (side == SOURCE)
        ok = ok &&
             !memcmp(other + good, before + alignment + good, sizeof whole - alignment - good) &&
             !memcmp(whole, before, alignment);
    guard_close(&guard);
    return ok;
}

static void test_copies(const struct copier *copier) {
    for (enum side side = SOURCE; side <= DESTINATION; side++) {
        bool ok = true;
        size_t bad_size = 0;
        for (size_t size = 0; ok && size <= 1024; size = effort_next_size(effort, size))
            for (size_t good = 0; ok && good <= size; good += 1 + size / 32) {
                ok = copy_faults(copier, side, size, good, good % 64);
                bad_size = size;
            }
        if (!ok)
            tap_note("size %zu", bad_size);
        tap_ok(ok, "%s: %s: a fault at every distance in the %s", way, copier->name,
               side == SOURCE ? "source" : "destination");
    }
}

static void test_far_pages(const struct copier *copier) {
    /*
     * The third of five pages is inaccessible. The address in these pages is odd. A page is larger
     * than any vector.
     */
    size_t size = 5 * 4096;
    unsigned char *from =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *to = calloc(1, size);
    rng_fill(from, size);
    mprotect(from + 2 * 4096, 4096, PROT_NONE);
    size_t done = 2 * 4096 - 3;
    tap_ok(TAP_TRUE(copies_as_expected(copier, to, from + 3, size - 3, done)) &&
               TAP_EQ(to[done], 0),
           "%s: %s: a page without permission", way, copier->name);
    tap_ok(copies_as_expected(copier, from + 1, to, size - 1, 2 * 4096 - 1),
           "%s: %s: a page without permission is not written", way, copier->name);
    free(to);
    munmap(from, size);
}

/*
 * The target's second page, which becomes inaccessible after the copy and before its sum. The copy
 * faults at the target's third page.
 */
static unsigned char *vanishing;

size_t __real_carry_copy_try(void *dst, const void *src, size_t size);
size_t __wrap_carry_copy_try(void *dst, const void *src, size_t size);

size_t __wrap_carry_copy_try(void *dst, const void *src, size_t size) {
    if (vanishing)
        mprotect(vanishing, 4096, PROT_NONE);
    vanishing = NULL;
    return __real_carry_copy_try(dst, src, size);
}

static void test_vanishing_target(void) {
    struct guard from = guard_open(2 * 4096), to = guard_open(3 * 4096);
    unsigned char *src = from.end - 2 * 4096 + 1, *dst = to.end - 3 * 4096 + 1;
    uint32_t sum = 7;
    rng_fill(from.start, (size_t)(from.end - from.start));
    vanishing = dst - 1 + 4096;
    size_t left = carry_sum_copy_try(dst, src, 3 * 4096 - 1, &sum);
    tap_ok(TAP_EQ(left, 2 * 4096) && TAP_EQ(oracle_fold(sum), oracle_sum(src, 4095, 7)),
           "%s: a target may be removed after it was written", way);
    guard_close(&from);
    guard_close(&to);
}

static void test_nonsense(const struct copier *copier) {
    static const size_t sizes[] = {1, 7, 60, 300, 5000};
    static unsigned char bytes[5000], before[5000];
    void *noncanonical = (void *)(uintptr_t)(UINT64_C(1) << 62);
    bool null = true, none = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        null = null && TAP_TRUE(copies_as_expected(copier, bytes, NULL, sizes[i], 0)) &&
               TAP_TRUE(copies_as_expected(copier, NULL, bytes, sizes[i], 0));
        none = none && copies_as_expected(copier, bytes, noncanonical, sizes[i], 0) &&
               copies_as_expected(copier, noncanonical, bytes, sizes[i], 0);
    }
    tap_ok(null, "%s: %s: NULL", way, copier->name);
    tap_ok(TAP_TRUE(none) && TAP_MEMEQ(bytes, before, sizeof bytes),
           "%s: %s: a copy survives a non-canonical address", way, copier->name);
    tap_ok(copies_as_expected(copier, NULL, NULL, 0, 0), "%s: %s: a copy of no bytes succeeds", way,
           copier->name);
}

/* --- Single accesses --- */

static bool accesses_right(size_t size) {
    struct guard guard = guard_open(4096);
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    unsigned char read[8] = {0};
    unsigned char *last = guard.end - size;
    bool ok = carry_write_try(last, value, size) && carry_read_try(read, last, size) &&
              !memcmp(read, value, size) && read[size % 8] == (size == 8 ? value[0] : 0);
    /* These accesses extend one byte beyond the end, or begin there. */
    ok = ok && !carry_read_try(read, last + 1, size) && !carry_write_try(last + 1, value, size) &&
         !carry_read_try(read, guard.end, size) && !carry_write_try(guard.end, value, size);
    ok = ok && !memcmp(last, value, size) && !memcmp(read, value, size);
    guard_close(&guard);
    return ok;
}

static void test_accesses(void) {
    bool ok = true;
    for (size_t size = 1; size <= 8; size *= 2)
        ok = ok && TAP_TRUE(accesses_right(size));
    tap_ok(ok, "%s: 1, 2, 4 and 8 bytes", way);
    uint64_t word = 0;
    tap_ok(TAP_TRUE(!carry_read_try(&word, &word, 3)) &&
               TAP_TRUE(!carry_write_try(&word, &word, 0)) &&
               TAP_TRUE(!carry_read_try(&word, &word, 16)),
           "%s: other sizes are refused", way);
}

/* Checks that the results do not depend on the contents of registers before the call. */
static void test_accesses_by_calls(void) {
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8}, read[8], written[8];
    struct verdict verdict = {.ok = true};
    for (size_t size = 1; size <= 8 && verdict.ok; size *= 2) {
        if ((uint8_t)call_checked_copy((carry_copy_fn *)(void (*)(void))carry_read_once, read,
                                       value, size, &verdict) != 1 ||
            (uint8_t)call_checked_copy((carry_copy_fn *)(void (*)(void))carry_write_once, written,
                                       value, size, &verdict) != 1)
            verdict_fail(&verdict, "%zu bytes are reported as inaccessible", size);
        if (memcmp(read, value, size) || memcmp(written, value, size))
            verdict_fail(&verdict, "%zu bytes are wrong", size);
    }
    verdict_report(&verdict, "single accesses follow the calling convention");
}

static void test_zeropad(void) {
    struct guard guard = guard_open(4096);
    bool ok = true;
    rng_fill(guard.end - 16, 16);
    for (size_t there = 1; there <= 16; there++) {
        unsigned char expected[8] = {0};
        memcpy(expected, guard.end - there, there < 8 ? there : 8);
        uint64_t word = carry_load_zeropad(guard.end - there);
        ok = ok && TAP_MEMEQ(&word, expected, 8);
    }
    tap_ok(ok, "%s: words at the end of a page are padded", way);
    guard_close(&guard);
}

/* --- A file that shrinks under its mapping --- */

static void test_truncated(const struct copier *copier) {
    FILE *file = tmpfile();
    size_t size = 4 * 4096;
    unsigned char copy[4 * 4096] = {0};
    bool ok = file && !ftruncate(fileno(file), (off_t)size);
    unsigned char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    memset(shared, 0x5a, size);
    ok = ok && copies_as_expected(copier, copy, shared, size, size) &&
         !ftruncate(fileno(file), 4096);
    memset(copy, 0, size);
    tap_ok(TAP_TRUE(ok) &&
               TAP_TRUE(copies_as_expected(copier, copy, shared + 100, size - 100, 4096 - 100)) &&
               TAP_EQ(copy[4096 - 100 - 1], 0x5a) && TAP_EQ(copy[4096 - 100], 0),
           "%s: %s: a copy survives a file truncated under its mapping (SIGBUS)", way,
           copier->name);
    munmap(shared, size);
    fclose(file);
}

/* --- Many at once --- */

static void *fault_often(void *argument) {
    bool *ok = argument;
    for (size_t i = 0; i < effort->rounds && *ok; i++)
        *ok = copy_faults(&copiers[i / 2 % 2], i % 2 ? SOURCE : DESTINATION, 200, i % 200, i % 64);
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[4];
    bool ok[4] = {true, true, true, true};
    for (size_t i = 0; i < 4; i++)
        ok[i] = !pthread_create(&threads[i], NULL, fault_often, &ok[i]);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    tap_ok(TAP_TRUE(ok[0]) && TAP_TRUE(ok[1]) && TAP_TRUE(ok[2]) && TAP_TRUE(ok[3]),
           "%s: four threads survive faults at once", way);
}

static volatile sig_atomic_t in_handler;

static void copy_in_handler(int signal) {
    (void)signal;
    unsigned char to[64];
    in_handler = carry_copy_try(to, NULL, sizeof to) == sizeof to ? 1 : -1;
}

static void test_signal_handler(void) {
    struct sigaction action = {.sa_handler = copy_in_handler};
    struct sigaction old;
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
    tap_ok(TAP_EQ(in_handler, 1), "%s: a copy survives a fault in a signal handler", way);
}

static void test_way(const char *name) {
    way = name;
    for (const struct copier *copier = copiers; copier < copiers_end; copier++) {
        test_copies(copier);
        test_far_pages(copier);
        test_nonsense(copier);
        test_truncated(copier);
    }
    test_vanishing_target();
    test_accesses();
    test_zeropad();
    test_threads();
    test_signal_handler();
}

/* --- Frames --- */

static volatile int sink;
static volatile int *volatile nowhere = (volatile int *)(uintptr_t)0x1230;

static int depth_reached(int depth) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame))
        return depth;
    int inner = depth < 3 ? depth_reached(depth + 1) : -1;
    /* The code in the innermost frame faults; so does the code in each outer frame, once the next
     * inner frame has caught its fault. */
    if (inner == depth + 1 || depth == 3)
        sink = *nowhere;
    carry_fault_leave(&frame);
    return inner;
}

static bool frame_tells(void) {
    struct carry_fault_frame frame;
    volatile int before = 5;
    if (carry_fault_enter(&frame) == 0) {
        before = 6;
        sink = *nowhere;
        carry_fault_leave(&frame);
        return false;
    }
    return before == 6 && frame.address == (const void *)nowhere && frame.signal == SIGSEGV;
}

/* Checks a fault at a non-canonical address, which the system does not report; emulators may. */
static bool frame_tells_none(void) {
    struct carry_fault_frame frame;
    volatile int *const none = (volatile int *)(uintptr_t)(UINT64_C(1) << 62);
    if (carry_fault_enter(&frame) == 0) {
        sink = *none;
        carry_fault_leave(&frame);
        return false;
    }
    return (!frame.address || frame.address == (const void *)none) && frame.signal == SIGSEGV;
}

static bool frame_left(void) {
    struct carry_fault_frame outer;
    struct carry_fault_frame inner;
    volatile bool ok = false;
    if (carry_fault_enter(&outer) == 0) {
        if (carry_fault_enter(&inner) == 0)
            carry_fault_leave(&inner);
        sink = *nowhere;
    } else {
        ok = true;
    }
    return ok;
}

static bool frame_goes_up(void) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame) == 0) {
        cpu_load_downwards(nowhere);
        carry_fault_leave(&frame);
        return false;
    }
    return !cpu_goes_down();
}

static __attribute__((noinline)) int load_nowhere(void) {
    return *nowhere;
}

/* Faults while registers that functions must preserve hold other values. */
static __attribute__((noinline)) void spoil_and_fault(void) {
    const int a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, g = sink, h = sink;
    sink = load_nowhere();
    sink = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

/* Preserves no registers itself, so that its caller sees what the frame has preserved. */
static uint32_t fault_in_frame(const void *data, size_t size, uint32_t sum) {
    struct carry_fault_frame frame;
    (void)data, (void)size, (void)sum;
    int caught = carry_fault_enter(&frame);
    if (caught == 0)
        spoil_and_fault();
    return (uint32_t)caught;
}

static unsigned char alternate[64 * 1024];

/* Returns the previous signal stack, and makes handlers run on another one. */
static stack_t use_alternate_stack(void) {
    const stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    stack_t old;
    sigaltstack(&stack, &old);
    return old;
}

/* Signal frames of AArch64 and AVX-512 are larger than the checked stack, so another is used. */
static void test_frames_keep_registers(void) {
    struct verdict verdict = {.ok = true};
    if (fault_under_valgrind()) {
        tap_skip("registers after frames",
                 "signals under valgrind need more stack than is checked");
        return;
    }
    const stack_t old = use_alternate_stack();
    for (int i = 0; i < 8 && verdict.ok; i++)
        if (call_checked(fault_in_frame, NULL, 0, 0, true, &verdict) != 1)
            verdict_fail(&verdict, "the frame catches nothing");
    sigaltstack(&old, NULL);
    verdict_report(&verdict, "after a fault in a frame, registers are preserved");
}

static bool frame_empties_x87(void) {
    struct carry_fault_frame frame;
    if (carry_fault_enter(&frame) == 0) {
        cpu_load_onto_x87(nowhere);
        carry_fault_leave(&frame);
        return false;
    }
    return cpu_x87_is_empty();
}

static void test_frames(void) {
    tap_ok(frame_tells(), "a frame reports address and signal");
    tap_ok(frame_tells_none(), "a frame works where no address is reported");
    tap_ok(TAP_EQ(depth_reached(0), 0), "frames can be nested, and each is left once");
    tap_ok(frame_left(), "a frame that was left catches nothing");
    tap_ok(frame_goes_up(), "after a frame the direction flag is clear");
    tap_ok(frame_empties_x87(), "after a frame the x87 stack is empty");
    unsigned char to[8];
    struct carry_fault_frame frame;
    volatile size_t left = 0;
    if (carry_fault_enter(&frame) == 0) {
        left = carry_copy_try(to, NULL, 8);
        carry_fault_leave(&frame);
    }
    tap_ok(TAP_EQ(left, 8), "a copy in a frame recovers by itself");
    test_frames_keep_registers();
}

/* --- Stacks and protection keys --- */

static void test_alternate_stack(void) {
    unsigned char to[8];
    if (!carry_host_recovers(CARRY_HOST_COPIES)) {
        tap_skip("alternate stacks", "copies cause no signals under valgrind");
        return;
    }
    const stack_t old = use_alternate_stack();
    bool ok = carry_copy_try(to, NULL, sizeof to) == sizeof to;
    tap_ok(TAP_TRUE(ok) && TAP_LT(handler_stack - (uintptr_t)alternate, sizeof alternate),
           "handlers run on the alternate stack");
    sigaltstack(&old, NULL);
}

static void test_protection_keys(void) {
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char to[8] = {0};
    int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    if (key < 0) {
        tap_skip("protection keys", "this system has none");
        return;
    }
    page[0] = 1;
    pkey_mprotect(page, 4096, PROT_READ | PROT_WRITE, key);
    tap_ok(TAP_TRUE(copies_as_expected(copiers, to, page, 8, 0)) &&
               TAP_TRUE(copies_as_expected(copiers, page, to, 8, 0)) && TAP_EQ(to[0], 0),
           "a page behind a protection key is neither read nor written");
    munmap(page, 4096);
    pkey_free(key);
}

/* --- Handlers of other code --- */

static volatile sig_atomic_t others;

static void on_fault_of_others(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    others++;
    mprotect((void *)((uintptr_t)info->si_addr & ~UINT64_C(4095)), 4096, PROT_READ | PROT_WRITE);
}

static bool others_are_called(void) {
    struct sigaction action = {.sa_sigaction = on_fault_of_others, .sa_flags = SA_SIGINFO};
    struct sigaction after;
    unsigned char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char to[8];
    sigaction(SIGSEGV, &action, NULL);
    bool ok = carry_fault_acquire() == CARRY_OK;
    ok = ok && carry_copy_try(to, page, 8) == 8 && others == 0;
    *(volatile unsigned char *)page = 1; /* faults, and the other handler makes the page writable */
    ok = ok && others == 1 && *page == 1;
    carry_fault_release();
    sigaction(SIGSEGV, NULL, &after);
    return ok && after.sa_sigaction == on_fault_of_others;
}

static bool count_users(void) {
    struct sigaction before;
    struct sigaction after;
    sigaction(SIGBUS, NULL, &before);
    bool ok = !carry_fault_acquire() && !carry_fault_acquire();
    carry_fault_release();
    sigaction(SIGBUS, NULL, &after);
    ok = ok && after.sa_sigaction != before.sa_sigaction;
    carry_fault_release();
    sigaction(SIGBUS, NULL, &after);
    ok = ok && after.sa_sigaction == before.sa_sigaction;
    carry_fault_release(); /* an excess call does nothing */
    return ok && !carry_fault_acquire();
}

/* Installs and removes handlers, like crash reporters, while this library handles faults. */
static bool others_come_and_go(void) {
    const struct sigaction action = {.sa_sigaction = on_fault_of_others, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    struct sigaction found;
    unsigned char to[8];
    bool ok = true;
    sigaction(SIGSEGV, NULL, &before);
    for (int i = 0; i < 20 && ok; i++) {
        ok = !carry_fault_acquire() && !sigaction(SIGSEGV, &action, &found) &&
             !carry_fault_acquire() && carry_copy_try(to, NULL, 8) == 8;
        sigaction(SIGSEGV, &found, NULL);
        ok = ok && carry_copy_try(to, NULL, 8) == 8;
        carry_fault_release();
        carry_fault_release();
    }
    sigaction(SIGSEGV, NULL, &found);
    return ok && found.sa_sigaction == before.sa_sigaction;
}

static void plain_fault(void *argument) {
    (void)argument;
    sink = *nowhere;
}

static bool plain_faults_stay(void) {
    struct fault fault;
    bool ok = !carry_fault_acquire();
    return ok && !fault_catch(plain_fault, NULL, &fault) && fault.signal == SIGSEGV;
}

static bool dies_of_fault(void) {
    if (carry_fault_acquire())
        return false;
    plain_fault(NULL);
    return true;
}

/*
 * The number of calls of a handler that is installed for one signal only (SA_RESETHAND). The fault
 * repeats after the first call, but the handler must not be called again.
 */
static unsigned *once_called;

static void on_first_fault(int signal) {
    (void)signal;
    if (++*once_called > 1)
        _exit(0);
}

static bool dies_behind_one(void) {
    struct sigaction action = {.sa_handler = on_first_fault, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGSEGV, &action, NULL);
    return dies_of_fault();
}

static void test_handler_for_one(void) {
    once_called = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool dead = !child_says(NULL, dies_behind_one);
    tap_ok(TAP_TRUE(dead) && TAP_EQ(*once_called, 1), "a handler for one signal is called once");
    munmap(once_called, 4096);
}

/* --- Errors that the system reports late, or to another thread: no instruction caused them --- */

#ifndef SEGV_MTEAERR /* C libraries before 2020 */
#define SEGV_MTEAERR 8
#endif

static const struct error {
    const char *name;
    int signal, code;
} errors[] = {
    {"memory errors elsewhere", SIGBUS, BUS_MCEERR_AO},
    {"late errors of tags", SIGSEGV, SEGV_MTEAERR},
};
static const struct error *error;

static int code_seen;

static void note_code(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    code_seen = info->si_code;
}

/*
 * Sends the error to this process. An emulator that the error kills may print text like TAP, so
 * standard output is replaced by standard error.
 */
static void send_error(void) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    siginfo_t info = {.si_signo = error->signal, .si_code = error->code};
    info.si_addr = (void *)(uintptr_t)0x1000;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), error->signal, &info);
}

static bool error_is_told(void) {
    struct sigaction action = {.sa_sigaction = note_code, .sa_flags = SA_SIGINFO};
    sigaction(error->signal, &action, NULL);
    send_error();
    return code_seen == error->code;
}

static bool error_passes_frame(void) {
    struct sigaction action = {.sa_sigaction = note_code, .sa_flags = SA_SIGINFO};
    struct carry_fault_frame frame;
    sigaction(error->signal, &action, NULL);
    if (carry_fault_acquire() || carry_fault_enter(&frame))
        return false;
    send_error();
    carry_fault_leave(&frame);
    return code_seen == error->code;
}

static bool error_is_ignored(void) {
    signal(error->signal, SIG_IGN);
    bool ok = !carry_fault_acquire();
    send_error();
    return ok;
}

static bool error_is_survived(void) {
    signal(error->signal, SIG_DFL); /* a sanitizer may have a handler */
    bool ok = !carry_fault_acquire();
    send_error();
    return ok;
}

static void test_error(const struct error *sent) {
    error = sent;
    if (!child_says(NULL, error_is_told)) {
        tap_skip(error->name, "this system or emulator does not deliver such a signal");
        return;
    }
    tap_ok(child_says(NULL, error_passes_frame), "%s do not end a frame", error->name);
    tap_ok(child_says(NULL, error_is_ignored), "such errors are ignored where that is requested");
    tap_ok(!child_says(NULL, error_is_survived), "an unhandled error ends the process");
}

static void test_errors(void) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (fault_under_valgrind())
            tap_skip(errors[i].name, "they end valgrind");
        else
            test_error(&errors[i]);
}

static void test_sanitizer(void) {
    int ends[2];
    char report[256] = "";
    if (!fault_under_asan() || pipe(ends)) {
        tap_skip("a sanitizer's handler", "this is not a build with AddressSanitizer");
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        dies_of_fault();
        _exit(0);
    }
    close(ends[1]);
    ssize_t size = read(ends[0], report, sizeof report - 1);
    close(ends[0]);
    waitpid(child, NULL, 0);
    tap_ok(TAP_GT(size, 0) && TAP_TRUE(strstr(report, "AddressSanitizer")),
           "a sanitizer reports faults of other code");
}

static void test_others(void) {
    tap_ok(child_says(NULL, others_are_called), "faults of other code reach its handlers");
    tap_ok(child_says(NULL, others_come_and_go),
           "other handlers can be installed over ours, and removed, any number of times");
    tap_ok(child_says(NULL, count_users), "handlers are removed when the last user releases them");
    tap_ok(child_says(NULL, plain_faults_stay), "handlers installed later come first");
    tap_ok(!child_says(NULL, dies_of_fault), "an unhandled fault ends the process");
    test_handler_for_one();
    test_errors();
    test_sanitizer();
}

/* Runs under valgrind only as `test_fault none`, for valgrind's tool of that name, which reports no
   errors. */
int main(int argc, char **argv) {
    effort = effort_chosen();
    effort_note(effort);
    if (fault_under_valgrind() && (argc < 2 || strcmp(argv[1], "none")))
        return tap_skip_all("valgrind reports every fault as an error");
    test_way("system");
    struct carry_fault_frame frame;
    tap_ok(TAP_LT(carry_fault_enter(&frame), 0), "without handlers a frame cannot be entered");
    if (carry_fault_acquire() == CARRY_ERROR_UNSUPPORTED) {
        tap_skip("handlers", "there are none on this architecture");
        return tap_done();
    }
    carry_fault_release();
    test_others();
    tap_ok(TAP_EQ(carry_fault_acquire(), CARRY_OK), "handlers are installed");
    test_way("handlers");
    test_accesses_by_calls();
    test_frames();
    test_alternate_stack();
    test_protection_keys();
    carry_fault_release();
    return tap_done();
}
