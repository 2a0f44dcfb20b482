/* SPDX-License-Identifier: MIT */
/*
 * Threads that run into the trap that guards a site wait in a handler of SIGTRAP until the commit
 * ends, and then run the site again.
 *
 * Once installed, the handler is not removed: when the commit ends, the signal of a thread that has
 * trapped may not be delivered yet.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_patch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hosted/hosted_signals.h"

/*
 * Incremented before guards are written and after they are gone, so it is odd while sites may have
 * guards. A futex, so that waiting threads take no CPU time from the committing thread.
 */
static uint32_t turns;
static uint32_t sleepers;

/* Threads spin first: guards exist for some microseconds, less than sleeping and waking costs. */
#define SPINS 1000

static bool is_trap(uintptr_t address) {
    return __atomic_load_n((const uint8_t *)address, __ATOMIC_SEQ_CST) == CARRY_TRAP;
}

static uint32_t current_turn(void) {
    return __atomic_load_n(&turns, __ATOMIC_SEQ_CST);
}

static void wait_for_turn_end(uint32_t guarded) {
    for (unsigned i = 0; i < SPINS; i++) {
        if (current_turn() != guarded)
            return;
        carry_ucontext_pause();
    }
    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &turns, FUTEX_WAIT_PRIVATE, guarded, NULL, NULL, 0);
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
}

/* Waits until a guard at `address` is gone. Returns false if there was no guard. */
static bool wait_for_guard(uintptr_t address) {
    if (!carry_patch_is_site(address))
        return false;
    for (;;) {
        uint32_t before = current_turn();
        if (!is_trap(address))
            return true;
        if (before % 2)
            wait_for_turn_end(before);
        else if (current_turn() ==
                 before) /* no commit began in between: not a trap of the library */
            return false;
    }
}

/* The number of threads that block all signals to wait for a guard, and the number of such waits so
 * far. */
static uint32_t waiting;
static uint32_t waits;

/* Calls wait_for_guard() with all signals blocked, and returns its result. A handler that jumped
 * out would leave this thread counted as a reader of the list of objects, or as a sleeper. */
static bool wait_signals_blocked(uintptr_t address) {
    sigset_t all, before;
    sigfillset(&all);
    __atomic_fetch_add(&waits, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    bool was_guard = wait_for_guard(address);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
    return was_guard;
}

static bool handle_trap(siginfo_t *info, void *context) {
    uintptr_t *pc = carry_ucontext_pc(context);
    if (info->si_code != SI_KERNEL || !wait_signals_blocked(*pc - CARRY_TRAP_BYTES))
        return false;
    *pc -= CARRY_TRAP_BYTES;
    return true;
}

bool carry_trap_begin(void) {
    static const struct carry_signal trap = {SIGTRAP, handle_trap};
    if (!carry_signal_install(&trap))
        return false;
    __atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
    return true;
}

void carry_trap_end(void) {
    __atomic_fetch_add(&turns, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &turns, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void carry_trap_forked(void) {
    __atomic_store_n(&sleepers, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&waiting, 0, __ATOMIC_SEQ_CST);
}

/* --- Threads and handlers that block SIGTRAP --- */

/* The action as the system call reports it: a library that wraps sigaction() may report another
 * one. */
struct kernel_action {
    void *handler; /* NULL is SIG_DFL, 1 is SIG_IGN */
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

#define KERNEL_SIGNALS 64
#define TRAP_BIT       (UINT64_C(1) << (SIGTRAP - 1))

/* Checks that no handler blocks SIGTRAP. The library's handlers may block it, because they run no
 * sites. */
static bool handlers_let_traps_in(void) {
    for (int number = 1; number <= KERNEL_SIGNALS; number++) {
        struct kernel_action action = {0};
        if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask))
            return false;
        if ((uintptr_t)action.handler > 1 && action.mask & TRAP_BIT &&
            !carry_signal_is_ours(number))
            return false;
    }
    return true;
}

/* Checks that a thread does not block SIGTRAP. A thread that has ended does not block it; a thread
 * whose status cannot be read may block it. */
static bool thread_lets_traps_in(const char *thread) {
    char path[64], line[256];
    unsigned long long blocked = 0;
    bool known = false;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
    errno = 0;
    FILE *file = fopen(path, "re");
    while (file && !known && fgets(line, sizeof line, file))
        known = sscanf(line, "SigBlk: %llx", &blocked) == 1;
    bool ended = !known && (errno == ENOENT || errno == ESRCH);
    if (file)
        fclose(file);
    return known ? !(blocked & TRAP_BIT) : ended;
}

static bool threads_let_traps_in(void) {
    DIR *threads = opendir("/proc/self/task");
    bool ok = threads;
    for (const struct dirent *thread; ok && (thread = readdir(threads));)
        ok = thread->d_name[0] == '.' || thread_lets_traps_in(thread->d_name);
    if (threads)
        closedir(threads);
    return ok;
}

/* The maximum number of times that threads are examined. A thread that still waits for an earlier
 * commit blocks the signal until it sees the end. */
#define LOOKS 10000

static bool any_thread_waited(uint32_t before) {
    return __atomic_load_n(&waiting, __ATOMIC_SEQ_CST) ||
           __atomic_load_n(&waits, __ATOMIC_SEQ_CST) != before;
}

bool carry_trap_is_safe(void) {
    if (!handlers_let_traps_in())
        return false;
    for (unsigned i = 0; i < LOOKS; i++) {
        uint32_t before = __atomic_load_n(&waits, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
            before--;
        if (threads_let_traps_in())
            return true;
        if (!any_thread_waited(before))
            return false;
        sched_yield();
    }
    return false;
}
