/* SPDX-License-Identifier: MIT */
/* The stack on which call_<arch>.c runs kernels: canaries, the usable part, and canaries. */
#ifndef CARRY_TESTS_CALL_STACK_H
#define CARRY_TESTS_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/verdict.h"

/*
 * Returns the stack pointer before the call, aligned to 64 bytes. Canaries begin there, in place of
 * the stack frame of the kernel's caller.
 */
unsigned char *call_stack_top(void);

/* Names in `verdict` the canaries that were overwritten, and restores them. */
void call_stack_judge(struct verdict *verdict);

/*
 * Implemented by call_<arch>.c: calls any function with `count` words, at most four, in the
 * registers of its first arguments, checks the call as call.h describes, and returns the contents
 * of the result register.
 */
typedef void call_fn(void);
uint64_t call_words(call_fn *fn, const uint64_t *words, size_t count, bool dirty,
                    struct verdict *verdict);

#endif
