/* SPDX-License-Identifier: MIT */
/*
 * Each installation of a signal has a level, and a handler function of its own that knows what to
 * pass on to. So if another handler was put over the library's, passes on to it, and then finds the
 * library's over itself, signals go through all of them once, and never in a circle.
 *
 * Other copies of the library pass on whatever is not theirs. So a copy need not stand before
 * another, which would then put itself before it again: it is enough that signals reach it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/signals.h"

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

/* Of other copies' levels: no chain is as long, but one that was damaged may be a circle. */
#define STEPS 1024

struct carry_signal_link carry_signal_links[CARRY_SIGNAL_LEVELS];

/* In the order of the links. */
static struct chain {
    int number;
    carry_signal_fn *handle;
    unsigned levels;
} chains[] = {{.number = SIGTRAP}, {.number = SIGSEGV}, {.number = SIGBUS}};

static struct chain *chain_of(int number) {
    struct chain *chain = chains;
    while (chain->number != number)
        chain++;
    return chain;
}

static struct sigaction *previous_of(const struct chain *chain, unsigned level) {
    return &carry_signal_links[level].previous[chain - chains];
}

bool carry_signal_is_fault(const siginfo_t *info) {
    /* The latter is no code of SIGTRAP. */
    const int asynchronous = info->si_signo == SIGBUS ? BUS_MCEERR_AO : SEGV_MTEAERR;
    return info->si_code > 0 && info->si_code != asynchronous;
}

/* What the system does with a signal that nobody handles; a fault faults again. */
static void act_by_default(int number, const siginfo_t *info) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    if (!carry_signal_is_fault(info) || number == SIGTRAP)
        raise(number);
}

/* What would be blocked if the library's handler, which blocks all, were not there. */
static void restore_mask(const struct sigaction *to, int number, void *context) {
    sigset_t mask = to->sa_mask;
    sigset_t interrupted;
    sigemptyset(&interrupted);
    /* The kernel's set is shorter than the C library's. */
    memcpy(&interrupted, &((ucontext_t *)context)->uc_sigmask, _NSIG / 8);
    sigorset(&mask, &mask, &interrupted);
    if (!(to->sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

/* Handlers of both kinds share a place, so SIG_DFL and SIG_IGN mean the same with SA_SIGINFO. */
static sighandler_t take_handler(struct sigaction *to) {
    if (to->sa_flags & (int)SA_RESETHAND && to->sa_handler != SIG_IGN)
        return __atomic_exchange_n(&to->sa_handler, SIG_DFL, __ATOMIC_RELAXED);
    return to->sa_handler;
}

static void call(const struct sigaction *to, sighandler_t handler, int number, siginfo_t *info,
                 void *context) {
    if (to->sa_flags & SA_SIGINFO)
        ((void (*)(int, siginfo_t *, void *))(void (*)(void))handler)(number, info, context);
    else
        handler(number);
}

/* The handler may be hooked as it would be alone, and jump out. */
static void pass_on(struct sigaction *to, int number, siginfo_t *info, void *context, bool inside) {
    sighandler_t handler = take_handler(to);
    if (handler == SIG_IGN && !carry_signal_is_fault(info))
        return;
    restore_mask(to, number, context);
    if (handler == SIG_DFL || handler == SIG_IGN) {
        act_by_default(number, info);
        return;
    }
    carry_host_go_inside(inside);
    call(to, handler, number, info, context);
    carry_host_go_inside(true);
}

/* Hooks call nobody back: a callback that ran a site, or faulted, would not survive it in here. */
CARRY_SIGNAL_ENTRY void carry_signal_handle(int number, siginfo_t *info, void *context,
                                            unsigned level) {
    bool inside = carry_host_go_inside(true);
    int saved = errno;
    struct chain *chain = chain_of(number);
    if (!chain->handle(info, context))
        pass_on(previous_of(chain, level), number, info, context, inside);
    errno = saved;
    carry_host_go_inside(inside);
}

static carry_signal_level_fn *const levels[CARRY_SIGNAL_LEVELS] = {
    carry_signal_level_0,
    carry_signal_level_1,
    carry_signal_level_2,
    carry_signal_level_3,
};

/* Which of this copy's levels an action is, or -1. */
static int level_of(const struct sigaction *action) {
    for (int i = 0; i < CARRY_SIGNAL_LEVELS; i++)
        if (action->sa_flags & SA_SIGINFO && action->sa_sigaction == levels[i])
            return i;
    return -1;
}

/* What an action of any copy passes on to, or NULL if it is none. */
static const struct sigaction *next_of(const struct chain *chain, const struct sigaction *action) {
    const struct carry_signal_mark *mark = carry_signal_mark_of((uintptr_t)action->sa_sigaction);
    if (!mark || !(action->sa_flags & SA_SIGINFO))
        return NULL;
    const uintptr_t links = (uintptr_t)&mark->links + (uintptr_t)(intptr_t)mark->links;
    return &((const struct carry_signal_link *)links)[mark->level].previous[chain - chains];
}

/*
 * This copy's level that signals reach from an action through other copies alone, or -1. Levels
 * above it are gone: whoever stood between has put back what was there before.
 */
static int reached_level(const struct chain *chain, const struct sigaction *action) {
    int level = level_of(action);
    for (int i = 0; level < 0 && i < STEPS; i++) {
        action = next_of(chain, action);
        if (!action)
            return -1;
        level = level_of(action);
    }
    return level;
}

static bool push(struct chain *chain, const struct sigaction *present) {
    if (chain->levels == CARRY_SIGNAL_LEVELS)
        return false;
    struct sigaction *previous = previous_of(chain, chain->levels);
    struct sigaction action = {
        .sa_sigaction = levels[chain->levels],
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
    };
    /* While a thread waits, handlers that would trap again, and wait, would pile up. Traps come in:
     * a thread that blocks them keeps commits from using them. */
    sigfillset(&action.sa_mask);
    sigdelset(&action.sa_mask, SIGTRAP);
    if (chain->number == SIGTRAP)
        action.sa_flags |= SA_NODEFER;
    *previous = *present;
    /* Another copy does not wait for this one: if it came in between, the system tells of it. */
    if (sigaction(chain->number, &action, previous))
        return false;
    chain->levels++;
    return true;
}

bool carry_signal_is_ours(int number) {
    struct sigaction present;
    return !sigaction(number, NULL, &present) && present.sa_flags & SA_SIGINFO &&
           (level_of(&present) >= 0 || carry_signal_mark_of((uintptr_t)present.sa_sigaction));
}

bool carry_signal_install(const struct carry_signal *signal) {
    struct chain *chain = chain_of(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return false;
    int level = reached_level(chain, &present);
    if (level < 0) {
        chain->handle = signal->handle;
        return push(chain, &present);
    }
    chain->levels = (unsigned)level + 1;
    return true;
}

void carry_signal_remove(const struct carry_signal *signal) {
    struct chain *chain = chain_of(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return;
    int level = level_of(&present);
    if (level < 0 || sigaction(signal->number, previous_of(chain, (unsigned)level), &present))
        return;
    if (level_of(&present) == level)
        chain->levels = (unsigned)level;
    else /* another copy came in between, and passes on to this one */
        sigaction(signal->number, &present, NULL);
}
