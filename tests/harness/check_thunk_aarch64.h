/* SPDX-License-Identifier: MIT */
/*
 * Checks of thunks on AArch64, by entry: the library's own, or a broken twin's. `whole`: they keep
 * what functions of any procedure call standard are passed, return and keep.
 */
#ifndef CARRY_TESTS_CHECK_THUNK_AARCH64_H
#define CARRY_TESTS_CHECK_THUNK_AARCH64_H

#include <carry/thunk.h>

#include "harness/verdict.h"
#include "harness/whole_aarch64.h"

/* As this CPU has vectors. */
void check_thunk_start(void);

/* Before all others: are calls handed on while nobody has called carry_thunk_prepare()? */
struct verdict check_thunk_unprepared(const void *entry);

struct verdict check_thunk_enter(const void *entry, bool whole);
struct verdict check_thunk_around(const void *entry, bool whole);

/* Sees a backtrace from callbacks and from the target, which finds the caller of the thunk. */
struct verdict check_thunk_backtraces(const void *entry, bool around);

/* Is a target reached that has no landing pad, in pages that demand one (BTI)? Else the process
 * ends by SIGILL. */
bool check_thunk_reaches_guarded(const void *entry);

/* A function that ends in whole_target() or its text, and is hooked: by whom the callbacks are
 * called. They are to be called with the same arguments as those of thunks. */
void check_thunk_note_enter(struct carry_thunk_call *call);
void check_thunk_note_leave(struct carry_thunk_call *call);
struct verdict check_thunk_hooked(const void *function, bool enters, bool leaves);

/* The text of a stub: what makes an entry a thunk. */
extern struct carry_thunk check_thunk_descriptor;
extern const void *check_thunk_entry;
extern const char check_thunk_stub[];

#endif
