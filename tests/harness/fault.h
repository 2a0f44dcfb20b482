/* SPDX-License-Identifier: MIT */
/* Turns a crash of the code under test into a failure that a test can report. */
#ifndef CARRY_TESTS_FAULT_H
#define CARRY_TESTS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct fault {
    int signal;
    const char *name;  /* "SIGSEGV" */
    uintptr_t address; /* the accessed address, or the address of the instruction */
};

/*
 * Runs body(argument). Returns whether it returned; if it faulted, describes the fault in `fault`.
 * Only for one thread at a time; calls may not be nested.
 */
bool fault_catch(void (*body)(void *), void *argument, struct fault *fault);

/* Returns whether valgrind runs this program. Valgrind reports each fault as an error of the
 * program, caught or not. */
bool fault_under_valgrind(void);

/*
 * Returns whether this is a build with AddressSanitizer, whose own code uses vector registers and
 * locks.
 */
bool fault_under_asan(void);

#endif
