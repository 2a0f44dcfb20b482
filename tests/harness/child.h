/* SPDX-License-Identifier: MIT */
/* The library as it is at its first use: the features and the kernel are chosen then, and once. */
#ifndef CARRY_TESTS_CHILD_H
#define CARRY_TESTS_CHILD_H

#include <stdbool.h>

/*
 * The answer to a question in a child process with CARRY_CPU_MASK=mask, or without it if NULL. To
 * be called before this process has used the library.
 */
bool child_says(const char *mask, bool (*question)(void));

#endif
