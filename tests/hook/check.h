/* SPDX-License-Identifier: MIT */
/* Checks of hooks that broken twins must fail. */
#ifndef CARRY_TESTS_HOOK_CHECK_H
#define CARRY_TESTS_HOOK_CHECK_H

#include <stdbool.h>

#include "hook/callee.h"

/* Arguments, results and what the caller keeps, through a hooked call or entry. */
bool hook_keeps_registers(bool entry, bool leave);

/* entry_registers() works, whatever its entry is. */
bool entry_is_intact(void);

/* Arguments up to the end of a stack: with `leave`, so many words behind them are asked for. */
bool hook_stops_at_end(size_t stack_words);

/* callee_add(), through its slot as it is now: a compiler may read a slot once for all calls of a
 * function, where there is no PLT. */
uint64_t add_by_slot(uint64_t a, uint64_t b);

/* A hook that was taken off is not called, and the call leads straight to the function. */
bool hook_goes(void);

/* Of NOPs that threads may be among none is changed. For a child: leaves a thread behind. */
bool hook_waits_for_quiet(void);

#endif
