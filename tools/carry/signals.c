/* SPDX-License-Identifier: MIT */
#include "signals.h"

#include <stddef.h>

#define UNDO_MAX 2

/* Those that end a program by default, and come from outside or from writing. */
static const int fatal[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
#define FATAL_COUNT (sizeof fatal / sizeof *fatal)

static void (*volatile undos[UNDO_MAX])(void);

static void on_fatal_signal(int signal) {
    for (size_t i = 0; i < UNDO_MAX && undos[i]; i++)
        undos[i]();
    raise(signal); /* SA_RESETHAND has put the default action back */
}

/* Signals that are ignored stay so: whoever started this in the background wants that. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_fatal_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction present;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        if (sigaction(fatal[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
}

void signals_undo(void (*undo)(void)) {
    for (size_t i = 0; i < UNDO_MAX; i++) {
        if (undos[i] == undo)
            return;
        if (!undos[i]) {
            undos[i] = undo;
            catch_signals();
            return;
        }
    }
}

void signals_hold(sigset_t *before) {
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaddset(&set, fatal[i]);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void signals_release(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}
