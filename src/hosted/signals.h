/* SPDX-License-Identifier: MIT */
/* Handlers of signals that the library shares with the program it is in. */
#ifndef CARRY_HOSTED_SIGNALS_H
#define CARRY_HOSTED_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Does what the signal asks for and returns true, or returns false if it is not the library's. */
typedef bool carry_signal_fn(siginfo_t *info, void *context);

/*
 * Does it tell of the instruction that was interrupted, and would it come again? Not if somebody
 * sent it, nor if memory failed that nobody was using (BUS_MCEERR_AO), nor if the CPU tells of a
 * tag after the access (SEGV_MTEAERR: asynchronous tag checks of AArch64).
 */
bool carry_signal_is_fault(const siginfo_t *info);

struct carry_signal {
    int number; /* SIGTRAP, SIGSEGV or SIGBUS */
    carry_signal_fn *handle;
};

/*
 * Puts the library's handler before the one that is installed, unless signals reach it already: it
 * stands there, or behind handlers of other copies of the library alone. Signals that are not the
 * library's are passed on to that one, as if it were alone. Whoever installs another over it is
 * found at the next call. Returns false if the system refuses, or if that has happened too often.
 * Each copy makes calls for one signal one at a time.
 */
bool carry_signal_install(const struct carry_signal *signal);

/* Is the handler that the system calls one of the library, of this copy or another? */
bool carry_signal_is_ours(int number);

/* Takes it away again, unless somebody else's stands before it: then it stays, and passes on. */
void carry_signal_remove(const struct carry_signal *signal);

#endif
