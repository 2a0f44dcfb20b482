/* SPDX-License-Identifier: MIT */
/*
 * Checks of thunks (carry/thunk.h). Each check takes one entry: the library's own, or a mutant's.
 * The checks run with the features in effect. The checks of enter, around and any try every set of
 * components in use, or a sample of the sets while another CPU is replayed.
 */
#ifndef CARRY_TESTS_CHECK_THUNK_H
#define CARRY_TESTS_CHECK_THUNK_H

#include <carry/thunk.h>

#include "harness/verdict.h"

/*
 * Checks that calls are passed on before carry_thunk_prepare() is called. Must run before all
 * other checks.
 */
struct verdict check_thunk_unprepared(const void *entry);

struct verdict check_thunk_enter(const void *entry);
struct verdict check_thunk_around(const void *entry);
struct verdict check_thunk_any(const void *entry);

/*
 * Makes a backtrace from each instruction that runs between call and return: it must find all
 * registers that calls preserve, and the stack pointer. Names the first instruction that fails.
 */
struct verdict check_thunk_unwind(const void *entry, bool any);

/* Returns the number of distinct instructions at which check_thunk_unwind() has stopped. */
size_t check_thunk_steps(void);

/* --- In assembly --- */

/* Two stubs, the descriptor that they pass, and the entry to which they jump. */
extern struct carry_thunk check_thunk_descriptor;
extern const void *check_thunk_entry;
extern const char check_thunk_stub[];
extern const char check_thunk_stub_any[];

/* Calls a stub with the trap flag set, and with patterns in the registers that calls preserve. */
void check_thunk_step(const void *stub, uint64_t *stack_pointer);
extern const char check_thunk_step_return[], check_thunk_step_end[];

#endif
