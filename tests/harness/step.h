/* SPDX-License-Identifier: MIT */
/* Runs a function between two instructions of the code under test: step_<arch>.c. */
#ifndef CARRY_TESTS_STEP_H
#define CARRY_TESTS_STEP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Lets this thread execute `count` more instructions and then call `act`, in a handler of SIGTRAP.
 * The return from step_begin() is among these instructions.
 */
void step_begin(size_t count, void (*act)(void));

/* Ends the stepping. Returns false if `act` was not called before. */
bool step_end(void);

#endif
