/* SPDX-License-Identifier: MIT */
#include "harness/fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int signal;
    const char *name;
} caught[] = {
    {SIGSEGV, "SIGSEGV"},
    {SIGBUS, "SIGBUS"},
    {SIGILL, "SIGILL"},
    {SIGFPE, "SIGFPE"},
};

#define CAUGHT_COUNT (sizeof caught / sizeof *caught)

static sigjmp_buf back;
static struct fault last;

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    last.signal = signal;
    last.address = (uintptr_t)info->si_addr;
    siglongjmp(back, 1);
}

static const char *signal_name(int signal) {
    size_t i = 0;
    while (i < CAUGHT_COUNT - 1 && caught[i].signal != signal)
        i++;
    return caught[i].name;
}

/* Installs handlers that run on a separate stack: the code under test may have damaged its own. */
static void install_handlers(struct sigaction *old) {
    static unsigned char stack[1 << 16];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);

    /* SA_NODEFER: otherwise the signal would remain blocked after the jump out of the handler. */
    struct sigaction action = {
        .sa_sigaction = on_fault,
        .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
    };
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        sigaction(caught[i].signal, &action, &old[i]);
}

static void restore_handlers(const struct sigaction *old) {
    for (size_t i = 0; i < CAUGHT_COUNT; i++)
        sigaction(caught[i].signal, &old[i], NULL);
}

bool fault_catch(void (*body)(void *), void *argument, struct fault *fault) {
    struct sigaction old[CAUGHT_COUNT];
    install_handlers(old);
    volatile bool returned = false;
    if (sigsetjmp(back, 0) == 0) {
        body(argument);
        returned = true;
    }
    restore_handlers(old);
    *fault = last;
    fault->name = signal_name(last.signal);
    return returned;
}

bool fault_under_valgrind(void) {
    const char *preload = getenv("LD_PRELOAD");
    return preload && strstr(preload, "vgpreload");
}

/* Defined in every program that is built with AddressSanitizer. */
extern void __asan_init(void) __attribute__((weak));

bool fault_under_asan(void) {
    return __asan_init != NULL;
}
