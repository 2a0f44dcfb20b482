/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers. Each time the library installs its handler for a signal, the handler gets a new
 * level: a function of its own, which knows the handler to pass signals on to. Suppose that another
 * handler is installed over the library's and passes signals on to it, and that the library is then
 * installed over that handler again. Signals still pass through each handler once, and never in a
 * circle.
 *
 * Other copies of the library pass on signals that are not theirs. So a copy need not be installed
 * over the other copies: signals only have to reach it. Otherwise two copies would install
 * themselves over each other again and again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/hosted_signals.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "base/hook_host.h"
#include "hosted/levels.h"

#ifndef SEGV_MTEAERR /* C libraries before 2020 */
#define SEGV_MTEAERR 8
#endif

/* The maximum number of levels of other copies to follow: a damaged chain may be a circle. */
#define STEPS 1024

struct carry_signal_link carry_signal_links[CARRY_SIGNAL_LEVELS];

/* One chain for each signal, in the order of carry_signal_link.previous. */
static struct chain {
    int number;
    carry_signal_fn *handle;
    unsigned levels;
} chains[] = {{.number = SIGTRAP}, {.number = SIGSEGV}, {.number = SIGBUS}};

static struct chain *find_chain(int number) {
    struct chain *chain = chains;
    while (chain->number != number)
        chain++;
    return chain;
}

static struct sigaction *previous_action(const struct chain *chain, unsigned level) {
    return &carry_signal_links[level].previous[chain - chains];
}

bool carry_signal_is_fault(const siginfo_t *info) {
    /* SIGTRAP has no si_code with the value of SEGV_MTEAERR. */
    const int asynchronous = info->si_signo == SIGBUS ? BUS_MCEERR_AO : SEGV_MTEAERR;
    return info->si_code > 0 && info->si_code != asynchronous;
}

/* Restores the default action of a signal, and raises it. A faulting instruction raises its signal
 * itself, because it runs again. */
static void act_by_default(int number, const siginfo_t *info) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    if (!carry_signal_is_fault(info) || number == SIGTRAP)
        raise(number);
}

/*
 * Blocks the signals that the system would block for the next handler. The library's handler blocks
 * more: all signals except SIGTRAP.
 */
static void restore_mask(const struct sigaction *to, int number, void *context) {
    sigset_t mask = to->sa_mask;
    sigset_t interrupted;
    sigemptyset(&interrupted);
    /* The kernel's signal set is shorter than the C library's. */
    memcpy(&interrupted, &((ucontext_t *)context)->uc_sigmask, _NSIG / 8);
    sigorset(&mask, &mask, &interrupted);
    if (!(to->sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Returns the handler, and resets it if SA_RESETHAND demands it. sa_handler and sa_sigaction share
 * memory, so SIG_DFL and SIG_IGN mean the same with SA_SIGINFO. */
static sighandler_t take_handler(struct sigaction *to) {
    if (to->sa_flags & (int)SA_RESETHAND && to->sa_handler != SIG_IGN)
        return __atomic_exchange_n(&to->sa_handler, SIG_DFL, __ATOMIC_RELAXED);
    return to->sa_handler;
}

static void call_handler(const struct sigaction *to, sighandler_t handler, int number,
                         siginfo_t *info, void *context) {
    if (to->sa_flags & SA_SIGINFO)
        ((void (*)(int, siginfo_t *, void *))(void (*)(void))handler)(number, info, context);
    else
        handler(number);
}

/*
 * Passes a signal on to the action `to`. While its handler runs, hooks call callbacks as if the
 * library's handler had not run (`inside`). The handler may jump out of the signal instead of
 * returning.
 */
static void pass_signal_on(struct sigaction *to, int number, siginfo_t *info, void *context,
                           bool inside) {
    sighandler_t handler = take_handler(to);
    if (handler == SIG_IGN && !carry_signal_is_fault(info))
        return;
    restore_mask(to, number, context);
    if (handler == SIG_DFL || handler == SIG_IGN) {
        act_by_default(number, info);
        return;
    }
    carry_host_go_inside(inside);
    call_handler(to, handler, number, info, context);
    carry_host_go_inside(true);
}

/* Handles a signal, or passes it on. Hooks call no callbacks while the library handles it: a
 * callback could neither run a site nor survive a fault here. */
CARRY_SIGNAL_ENTRY void carry_signal_handle(int number, siginfo_t *info, void *context,
                                            unsigned level) {
    bool inside = carry_host_go_inside(true);
    int saved = errno;
    struct chain *chain = find_chain(number);
    if (!chain->handle(info, context))
        pass_signal_on(previous_action(chain, level), number, info, context, inside);
    errno = saved;
    carry_host_go_inside(inside);
}

static carry_signal_level_fn *const levels[CARRY_SIGNAL_LEVELS] = {
    carry_signal_level_0,
    carry_signal_level_1,
    carry_signal_level_2,
    carry_signal_level_3,
};

/* Returns the level of this copy whose function an action calls, or -1. */
static int find_level(const struct sigaction *action) {
    for (int i = 0; i < CARRY_SIGNAL_LEVELS; i++)
        if (action->sa_flags & SA_SIGINFO && action->sa_sigaction == levels[i])
            return i;
    return -1;
}

/* Returns the action to which `action` passes signals on, or NULL if `action` is not an action of
 * any copy. */
static const struct sigaction *next_action(const struct chain *chain,
                                           const struct sigaction *action) {
    const struct carry_signal_mark *mark = carry_signal_mark_of((uintptr_t)action->sa_sigaction);
    if (!mark || !(action->sa_flags & SA_SIGINFO))
        return NULL;
    const uintptr_t links = (uintptr_t)&mark->links + (uintptr_t)(intptr_t)mark->links;
    return &((const struct carry_signal_link *)links)[mark->level].previous[chain - chains];
}

/*
 * Returns the level of this copy that signals reach from `action` only through other copies, or -1.
 * Higher levels are no longer installed: a handler that had replaced the returned level has
 * restored it.
 */
static int reached_level(const struct chain *chain, const struct sigaction *action) {
    int level = find_level(action);
    for (int i = 0; level < 0 && i < STEPS; i++) {
        action = next_action(chain, action);
        if (!action)
            return -1;
        level = find_level(action);
    }
    return level;
}

static bool push_level(struct chain *chain, const struct sigaction *present) {
    if (chain->levels == CARRY_SIGNAL_LEVELS)
        return false;
    struct sigaction *previous = previous_action(chain, chain->levels);
    struct sigaction action = {
        .sa_sigaction = levels[chain->levels],
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
    };
    /* Blocks all signals except SIGTRAP, so that no further handler can trap and wait while this
     * handler waits. While a thread blocks SIGTRAP, commits cannot use traps. */
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGTRAP);
    if (chain->number == SIGTRAP)
        action.sa_flags |= SA_NODEFER;
    *previous = *present;
    /* Another copy may have installed itself after `present` was read: sigaction() sets `previous`
     * to the action that it replaces. */
    if (sigaction(chain->number, &action, previous))
        return false;
    chain->levels++;
    return true;
}

bool carry_signal_is_ours(int number) {
    struct sigaction present;
    return !sigaction(number, NULL, &present) && present.sa_flags & SA_SIGINFO &&
           (find_level(&present) >= 0 || carry_signal_mark_of((uintptr_t)present.sa_sigaction));
}

bool carry_signal_install(const struct carry_signal *signal) {
    struct chain *chain = find_chain(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return false;
    int level = reached_level(chain, &present);
    if (level < 0) {
        chain->handle = signal->handle;
        return push_level(chain, &present);
    }
    chain->levels = (unsigned)level + 1;
    return true;
}

void carry_signal_remove(const struct carry_signal *signal) {
    struct chain *chain = find_chain(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return;
    int level = find_level(&present);
    if (level < 0 || sigaction(signal->number, previous_action(chain, (unsigned)level), &present))
        return;
    if (find_level(&present) == level)
        chain->levels = (unsigned)level;
    else /* another copy was installed in between, and passes signals on to this copy */
        sigaction(signal->number, &present, NULL);
}
