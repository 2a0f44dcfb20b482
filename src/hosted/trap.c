/* SPDX-License-Identifier: MIT */
/*
 * Threads that run into a trap which a commit put over a site wait in a handler of SIGTRAP until
 * the commit is over, and then run the site anew.
 *
 * The handler stays once it is installed: a thread may have trapped, and not have been told yet,
 * when the commit ends. Whoever installs another over it is found at the next commit, and becomes
 * the one that traps of others are passed on to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/patch.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 1 while guards stand. A futex, so that waiting threads take no time from the committing one. */
static uint32_t guarded;
static uint32_t sleepers;

/* Guards stand for some microseconds: less than it takes to sleep and be woken. */
#define SPINS 1000

static struct sigaction previous;

/*
 * Marks a signal in si_errno, which the kernel leaves 0: handlers that pass on to each other, as
 * ours does and one that was installed over it may, would do so for ever. A mark of the thread
 * would outlast handlers that are left by siglongjmp().
 */
#define PASSED_ON 0x63617279

static bool is_trap(uintptr_t address) {
    return __atomic_load_n((const uint8_t *)address, __ATOMIC_SEQ_CST) == CARRY_TRAP;
}

static void wait_while_guarded(void) {
    for (unsigned i = 0; i < SPINS; i++) {
        if (!__atomic_load_n(&guarded, __ATOMIC_SEQ_CST))
            return;
        carry_context_pause();
    }
    __atomic_fetch_add(&sleepers, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &guarded, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
    __atomic_fetch_sub(&sleepers, 1, __ATOMIC_SEQ_CST);
}

/* True if the thread ran into a guard: the guard is gone, so the site may be run. */
static bool waited_for_guard(uintptr_t address) {
    if (!carry_patch_is_site(address))
        return false;
    for (;;) {
        /* The order matters: what stands once nothing is guarded any more is not ours. */
        uint32_t in_progress = __atomic_load_n(&guarded, __ATOMIC_SEQ_CST);
        if (!is_trap(address))
            return true;
        if (!in_progress)
            return false;
        wait_while_guarded();
    }
}

static void die_of(int signal) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    raise(signal);
}

/* Does what would have been done if this handler had never been installed. */
static void pass_on(int signal, siginfo_t *info, void *context) {
    bool sent = info->si_code <= 0;
    bool comes_back = info->si_errno == PASSED_ON;
    info->si_errno = PASSED_ON;
    if (comes_back || previous.sa_handler == SIG_DFL || (previous.sa_handler == SIG_IGN && !sent))
        die_of(signal);
    else if (previous.sa_flags & SA_SIGINFO)
        previous.sa_sigaction(signal, info, context);
    else if (previous.sa_handler != SIG_IGN)
        previous.sa_handler(signal);
}

static void on_trap(int signal, siginfo_t *info, void *context) {
    int saved = errno;
    uintptr_t *pc = carry_context_pc(context);
    if (info->si_code == SI_KERNEL && waited_for_guard(*pc - CARRY_TRAP_BYTES))
        *pc -= CARRY_TRAP_BYTES;
    else
        pass_on(signal, info, context);
    errno = saved;
}

static bool is_installed(const struct sigaction *action) {
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_trap;
}

bool carry_trap_begin(void) {
    struct sigaction present;
    if (sigaction(SIGTRAP, NULL, &present))
        return false;
    if (!is_installed(&present)) {
        struct sigaction action = {
            .sa_sigaction = on_trap,
            .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART,
        };
        previous = present;
        if (sigaction(SIGTRAP, &action, NULL))
            return false;
    }
    __atomic_store_n(&guarded, 1, __ATOMIC_SEQ_CST);
    return true;
}

void carry_trap_end(void) {
    __atomic_store_n(&guarded, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &guarded, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
