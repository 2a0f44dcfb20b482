/* SPDX-License-Identifier: MIT */
/* Turns a crash of the code under test into something that a test can report. */
#ifndef CARRY_TESTS_FAULT_H
#define CARRY_TESTS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct fault {
    int signal;
    const char *name;  /* "SIGSEGV" */
    uintptr_t address; /* touched, or of the instruction */
};

/* Runs body(argument). False if it faulted; then `fault` says how. Not for threads, not nested. */
bool fault_catch(void (*body)(void *), void *argument, struct fault *fault);

/* Valgrind reports a fault as an error of the program, caught or not. */
bool fault_under_valgrind(void);

/* Is this a build with AddressSanitizer? Its own code uses vector registers, and locks. */
bool fault_under_asan(void);

#endif
