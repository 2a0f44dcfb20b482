/* SPDX-License-Identifier: MIT */
/*
 * Checks of thunks (carry/thunk.h), by entry: the library's own, or a broken twin's. They run under
 * the features in effect, and try every set of components that these know in use.
 */
#ifndef CARRY_TESTS_CHECK_THUNK_H
#define CARRY_TESTS_CHECK_THUNK_H

#include <carry/thunk.h>

#include "harness/verdict.h"

/* Before all others: are calls handed on while nobody has called carry_thunk_prepare()? */
struct verdict check_thunk_unprepared(const void *entry);

struct verdict check_thunk_enter(const void *entry);
struct verdict check_thunk_around(const void *entry);
struct verdict check_thunk_any(const void *entry);

/* Sees a backtrace from each instruction that runs between call and return: all registers that
 * calls keep are found, and the stack pointer. Names the first instruction that fails. */
struct verdict check_thunk_unwind(const void *entry, bool any);

/* Distinct instructions of thunks that check_thunk_unwind() has stopped at so far. */
size_t check_thunk_steps(void);

/* --- In assembly --- */

/* Stubs: what makes them thunks. */
extern struct carry_thunk check_thunk_descriptor;
extern const void *check_thunk_entry;
extern const char check_thunk_stub[];
extern const char check_thunk_stub_any[];

/* Calls a stub with the trap flag set, and patterns in the registers that calls keep. */
void check_thunk_step(const void *stub, uint64_t *stack_pointer);
extern const char check_thunk_step_return[], check_thunk_step_end[];

#endif
