/* SPDX-License-Identifier: MIT */
/* Runs a function between two instructions of the code under test: step_<arch>.c. */
#ifndef CARRY_TESTS_STEP_H
#define CARRY_TESTS_STEP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * This thread executes `count` more instructions and then calls `act`, in a handler of SIGTRAP. The
 * return from this function is among these instructions.
 */
void step_begin(size_t count, void (*act)(void));

/* Ends the stepping. Returns false if `act` was not called before. */
bool step_end(void);

#endif
