/* SPDX-License-Identifier: MIT */
/* Checks of the library at its first use: features and kernels are chosen then, and only once. */
#ifndef CARRY_TESTS_CHILD_H
#define CARRY_TESTS_CHILD_H

#include <stdbool.h>

/*
 * Returns the answer to a question in a child process with CARRY_CPU_MASK=mask, or without it if
 * `mask` is NULL. Must be called before this process uses the library.
 */
bool child_says(const char *mask, bool (*question)(void));

#endif
