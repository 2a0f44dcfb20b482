/* SPDX-License-Identifier: MIT */
#include "common/signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define UNDO_MAX 2

/*
 * Signals that do not end a program by default, that cannot be caught, or that report a fault of
 * the program itself, whose state must then be preserved. All others end the program: signals from
 * other processes, from resource limits, and from writing to closed pipes.
 */
static const int others[] = {SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU, SIGSTOP,
                             SIGKILL, SIGSEGV, SIGBUS, SIGFPE,   SIGILL,  SIGTRAP, SIGSYS};

static void (*volatile undos[UNDO_MAX])(void);

static void fill_fatal(sigset_t *set) {
    sigfillset(set);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        sigdelset(set, others[i]);
}

static void on_fatal_signal(int signal) {
    for (size_t i = 0; i < UNDO_MAX && undos[i]; i++)
        undos[i]();
    raise(signal); /* SA_RESETHAND has restored the default action */
}

static struct sigaction action_of(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigfillset(&action.sa_mask);
    return action;
}

/* Installs `handler` for a signal whose current handler is `present`. */
static void replace_handler(int signal, void (*present)(int), void (*handler)(int), int flags) {
    const struct sigaction action = action_of(handler, flags);
    struct sigaction found;
    if (sigaction(signal, NULL, &found) == 0 && found.sa_handler == present)
        sigaction(signal, &action, NULL);
}

/* Catches fatal signals. Ignored ones remain ignored, as shells require of background processes. */
static void catch_signals(void) {
    sigset_t fatal;
    fill_fatal(&fatal);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        if (sigismember(&fatal, signal) == 1)
            replace_handler(signal, SIG_DFL, on_fatal_signal, (int)SA_RESETHAND);
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
    fill_fatal(&set);
    pthread_sigmask(SIG_BLOCK, &set, before);
}

void signals_release(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* --- A first signal that only ends reading --- */

/* Signals that ask a program to end; the last one is optional. */
static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
#define STOPS_COUNT (sizeof stops / sizeof *stops)

static size_t stops_count;                    /* how many of these are caught */
static volatile sig_atomic_t stop_event = -1; /* a descriptor, between begin and end */
static volatile sig_atomic_t stop_came;

static void on_stop_signal(int);

static void end_stops(void) {
    for (size_t i = 0; i < stops_count; i++)
        replace_handler(stops[i], on_stop_signal, on_fatal_signal, (int)SA_RESETHAND);
}

static void on_stop_signal(int signal) {
    const uint64_t once = 1;
    const int error = errno;
    end_stops();
    stop_came = 1;
    if (write(stop_event, &once, sizeof once) < 0)
        raise(signal);
    errno = error;
}

/* Installs the handlers with SA_RESTART, so that interrupted writes continue. */
static void begin_stops(void) {
    for (size_t i = 0; i < stops_count; i++) {
        replace_handler(stops[i], SIG_DFL, on_stop_signal, SA_RESTART);
        replace_handler(stops[i], on_fatal_signal, on_stop_signal, SA_RESTART);
    }
}

int signals_stop_begin(bool hangup) {
    stops_count = hangup ? STOPS_COUNT : STOPS_COUNT - 1;
    stop_event = stop_came ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_event >= 0)
        begin_stops();
    return stop_event;
}

void signals_stop_end(void) {
    if (stop_event < 0)
        return;
    end_stops();
    close(stop_event);
    stop_event = -1;
}
