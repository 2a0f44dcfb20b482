/* SPDX-License-Identifier: MIT */
/*
 * Each installation of a signal has a level, and a handler function of its own that knows what to
 * pass on to. So if another handler was put over the library's, passes on to it, and then finds the
 * library's over itself, signals go through all of them once, and never in a circle.
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

/* Emulators call handlers with a stack that is less aligned than the ABI says. */
#if defined(__has_attribute) && __has_attribute(force_align_arg_pointer)
#define CARRY_SIGNAL_ENTRY __attribute__((force_align_arg_pointer))
#else
#define CARRY_SIGNAL_ENTRY
#endif

#define LEVELS 4

static struct chain {
    int number;
    carry_signal_fn *handle;
    unsigned levels;
    struct sigaction previous[LEVELS];
} chains[] = {{.number = SIGTRAP}, {.number = SIGSEGV}, {.number = SIGBUS}};

static struct chain *chain_of(int number) {
    struct chain *chain = chains;
    while (chain->number != number)
        chain++;
    return chain;
}

bool carry_signal_is_fault(const siginfo_t *info) {
    return info->si_code > 0 && !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
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
static void handle(unsigned level, int number, siginfo_t *info, void *context) {
    bool inside = carry_host_go_inside(true);
    int saved = errno;
    struct chain *chain = chain_of(number);
    if (!chain->handle(info, context))
        pass_on(&chain->previous[level], number, info, context, inside);
    errno = saved;
    carry_host_go_inside(inside);
}

CARRY_SIGNAL_ENTRY static void level_0(int number, siginfo_t *info, void *context) {
    handle(0, number, info, context);
}

CARRY_SIGNAL_ENTRY static void level_1(int number, siginfo_t *info, void *context) {
    handle(1, number, info, context);
}

CARRY_SIGNAL_ENTRY static void level_2(int number, siginfo_t *info, void *context) {
    handle(2, number, info, context);
}

CARRY_SIGNAL_ENTRY static void level_3(int number, siginfo_t *info, void *context) {
    handle(3, number, info, context);
}

static void (*const levels[LEVELS])(int, siginfo_t *, void *) = {
    level_0,
    level_1,
    level_2,
    level_3,
};

/*
 * The level that is installed, or -1. Those above it are gone: whoever stood between has put back
 * what was there before.
 */
static int installed_level(const struct sigaction *action) {
    for (int i = 0; i < LEVELS; i++)
        if (action->sa_flags & SA_SIGINFO && action->sa_sigaction == levels[i])
            return i;
    return -1;
}

bool carry_signal_is_installed(int number) {
    struct sigaction present;
    return !sigaction(number, NULL, &present) && installed_level(&present) >= 0;
}

bool carry_signal_install(const struct carry_signal *signal) {
    struct chain *chain = chain_of(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return false;
    int level = installed_level(&present);
    if (level >= 0) {
        chain->levels = (unsigned)level + 1;
        return true;
    }
    if (chain->levels == LEVELS)
        return false;
    struct sigaction action = {
        .sa_sigaction = levels[chain->levels],
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART,
    };
    /* While a thread waits, handlers that would trap again, and wait, would pile up. */
    sigfillset(&action.sa_mask);
    chain->handle = signal->handle;
    chain->previous[chain->levels] = present;
    if (sigaction(signal->number, &action, NULL))
        return false;
    chain->levels++;
    return true;
}

void carry_signal_remove(const struct carry_signal *signal) {
    struct chain *chain = chain_of(signal->number);
    struct sigaction present;
    if (sigaction(signal->number, NULL, &present))
        return;
    int level = installed_level(&present);
    if (level >= 0 && !sigaction(signal->number, &chain->previous[level], NULL))
        chain->levels = (unsigned)level;
}
