/* SPDX-License-Identifier: MIT */
/* Steps by the trap flag. */
#include "harness/step.h"

#include <signal.h>
#include <ucontext.h>
#include <x86intrin.h>

#define TRAP_FLAG 0x100

static size_t left;
static void (*action)(void);
static struct sigaction before;

static void on_step(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    if (--left)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    action();
}

static void set_trap_flag(bool on) {
    const unsigned long long flags = __readeflags();
    __writeeflags(on ? flags | TRAP_FLAG : flags & ~(unsigned long long)TRAP_FLAG);
}

void step_begin(size_t count, void (*act)(void)) {
    const struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &step, &before);
    left = count;
    action = act;
    set_trap_flag(count);
}

bool step_end(void) {
    set_trap_flag(false);
    sigaction(SIGTRAP, &before, NULL);
    return !left;
}
