/* SPDX-License-Identifier: MIT */
/* The stack that call_<arch>.c lends to kernels: canaries, what they may use, and canaries. */
#ifndef CARRY_TESTS_CALL_STACK_H
#define CARRY_TESTS_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/verdict.h"

/* Where the stack pointer stands before the call; aligned to 64 bytes. Canaries lie from there on,
 * where the frame of the kernel's caller would be. */
unsigned char *call_stack_top(void);

/* Names what was overwritten, and repairs it. */
void call_stack_judge(struct verdict *verdict);

/*
 * What call_<arch>.c does: calls any function with `count` words, at most four, in the registers of
 * its first arguments, judges it as call.h says, and returns the register of results.
 */
typedef void call_fn(void);
uint64_t call_words(call_fn *fn, const uint64_t *words, size_t count, bool dirty,
                    struct verdict *verdict);

#endif
