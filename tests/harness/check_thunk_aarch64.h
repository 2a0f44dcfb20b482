/* SPDX-License-Identifier: MIT */
/*
 * Checks of thunks on AArch64. Each check takes one entry: the library's own, or a mutant's. With
 * `whole`, thunks must preserve the arguments, results and saved registers of functions of any
 * procedure call standard.
 */
#ifndef CARRY_TESTS_CHECK_THUNK_AARCH64_H
#define CARRY_TESTS_CHECK_THUNK_AARCH64_H

#include <carry/thunk.h>

#include "harness/verdict.h"
#include "harness/whole_aarch64.h"

/* Prepares the checks for the vectors of this CPU. */
void check_thunk_start(void);

/*
 * Checks that calls are passed on before carry_thunk_prepare() is called. Must run before all
 * other checks.
 */
struct verdict check_thunk_unprepared(const void *entry);

struct verdict check_thunk_enter(const void *entry, bool whole);
struct verdict check_thunk_around(const void *entry, bool whole);

/* Makes backtraces from callbacks and from the target: they must find the caller of the thunk. */
struct verdict check_thunk_backtraces(const void *entry, bool around);

/*
 * Returns true after calling a target without a landing pad in pages that demand one (BTI). A wrong
 * thunk ends the process by SIGILL.
 */
bool check_thunk_reaches_guarded(const void *entry);

/*
 * Checks a hooked function that ends in whole_target() or its text. Its callbacks must call
 * check_thunk_note_enter() and check_thunk_note_leave() with the arguments of a thunk's callbacks.
 */
void check_thunk_note_enter(struct carry_thunk_call *call);
void check_thunk_note_leave(struct carry_thunk_call *call);
struct verdict check_thunk_hooked(const void *function, bool enters, bool leaves);

/* A stub, the descriptor that it passes, and the entry to which it jumps. */
extern struct carry_thunk check_thunk_descriptor;
extern const void *check_thunk_entry;
extern const char check_thunk_stub[];

#endif
