/* SPDX-License-Identifier: MIT */
/* Checks of hooks that mutants must fail. */
#ifndef CARRY_TESTS_HOOK_CHECK_H
#define CARRY_TESTS_HOOK_CHECK_H

#include <stdbool.h>

#include "unit/hook/callee.h"

/* Checks arguments, results and preserved registers, through a hooked call or entry. */
bool hook_keeps_registers(bool entry, bool leave);

/* Checks that entry_registers() works, whatever its entry contains. */
bool entry_is_intact(void);

/*
 * Checks arguments up to the end of a stack, with a hook that requests `stack_words` words of the
 * stack: these words may extend beyond its end.
 */
bool hook_stops_at_end(size_t stack_words);

/*
 * Calls callee_add() through the current content of its slot. Without a PLT, a compiler may read a
 * slot only once for all calls in a function.
 */
uint64_t add_by_slot(uint64_t a, uint64_t b);

/* Checks that a detached hook is not called, and that the call goes directly to the function. */
bool hook_goes(void);

/*
 * Checks that NOPs are not changed while a thread may be inside them. Leaves a thread running, and
 * so must be called in a child process.
 */
bool hook_waits_for_quiet(void);

#endif
