/* SPDX-License-Identifier: MIT */
/* Something that happens between two instructions of the code under test: step_<arch>.c. */
#ifndef CARRY_TESTS_STEP_H
#define CARRY_TESTS_STEP_H

#include <stdbool.h>
#include <stddef.h>

/* From here on this thread executes `count` instructions and then calls `act`, in a handler of
 * SIGTRAP. Some of them are those that return from here. */
void step_begin(size_t count, void (*act)(void));

/* The thread is no longer stepped. False if it came here before `act` was called. */
bool step_end(void);

#endif
