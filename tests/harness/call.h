/* SPDX-License-Identifier: MIT */
/*
 * Calls a kernel as the calling convention allows but no compiler does: every register that a
 * caller must set holds its value; other registers, and the unused upper half of a 32-bit argument,
 * hold garbage. Afterwards checks the registers that a callee must preserve.
 *
 * There is one implementation for each architecture: call_<arch>.c, with call_<arch>.S where
 * needed.
 */
#ifndef CARRY_TESTS_CALL_H
#define CARRY_TESTS_CALL_H

#include <carry/copy.h>
#include <carry/sum.h>

#include "harness/stack.h"
#include "harness/verdict.h"

/*
 * Calls fn(data, size, sum) and returns its result. Reports each broken rule in `verdict`.
 * If `dirty` is false, the registers hold the values of the previous call, and the 32-bit argument
 * is extended with zeros, so that a caller can find out whether garbage in its upper half caused a
 * wrong result.
 */
uint32_t call_checked(carry_sum_fn *fn, const void *data, size_t size, uint32_t sum, bool dirty,
                      struct verdict *verdict);

/* Calls fn(dst, src, size, sum) like call_checked() with `dirty`. */
uint32_t call_checked_sum_copy(carry_sum_copy_fn *fn, void *dst, const void *src, size_t size,
                               uint32_t sum, struct verdict *verdict);

/*
 * Calls fn(dst, src, size) like call_checked() with `dirty`. Returns the contents of the result
 * register.
 */
uint64_t call_checked_copy(carry_copy_fn *fn, void *dst, const void *src, size_t size,
                           struct verdict *verdict);

/* Returns a description of what cannot be checked on this machine, or NULL. */
const char *call_limits(void);

#endif
