/* SPDX-License-Identifier: MIT */
/* Signal handlers that the library shares with the program that contains it. */
#ifndef CARRY_HOSTED_SIGNALS_H
#define CARRY_HOSTED_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Handles a signal and returns true, or returns false if the signal is not the library's. */
typedef bool carry_signal_fn(siginfo_t *info, void *context);

/*
 * Checks whether the interrupted instruction caused the signal, and would cause it again. Returns
 * false for a signal that was sent, for failed memory that no instruction was using
 * (BUS_MCEERR_AO), and for a tag mismatch that the CPU reports after the access (SEGV_MTEAERR:
 * asynchronous tag checks of AArch64).
 */
bool carry_signal_is_fault(const siginfo_t *info);

struct carry_signal {
    int number; /* SIGTRAP, SIGSEGV or SIGBUS */
    carry_signal_fn *handle;
};

/*
 * Installs the library's handler over the present one, unless signals reach it already: it is
 * installed, or only handlers of other copies of the library are before it. Signals that are not
 * the library's are passed on to the present handler as if the library had no handler. If another
 * handler is installed over the library's later, the next call installs the library's again.
 * Returns false if the system refuses, or if handlers were installed over it too often. Within one
 * copy, calls for a signal must not overlap.
 */
bool carry_signal_install(const struct carry_signal *signal);

/* Checks whether the installed handler belongs to the library: to this copy or another. */
bool carry_signal_is_ours(int number);

/*
 * Removes the handler, unless a foreign handler was installed over it: then the library's handler
 * remains, and passes signals on.
 */
void carry_signal_remove(const struct carry_signal *signal);

#endif
