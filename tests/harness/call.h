/* SPDX-License-Identifier: MIT */
/*
 * Calls a kernel as the calling convention allows but no compiler does: every register that the
 * caller must set holds what it must, every other one garbage, the unused upper half of a 32-bit
 * argument too. Afterwards everything that a callee must leave alone is looked at.
 *
 * One implementation for each architecture: call_<arch>.c, with call_<arch>.S where needed.
 */
#ifndef CARRY_TESTS_CALL_H
#define CARRY_TESTS_CALL_H

#include <carry/copy.h>
#include <carry/sum.h>

#include "harness/stack.h"
#include "harness/verdict.h"

/*
 * fn(data, size, sum). Names in `verdict` each rule that was broken; the result is returned all
 * the same. With `dirty` false the registers hold what they held in the call before, but the 32-bit
 * argument is extended by zeros: tells whether a wrong result came from its upper half.
 */
uint32_t call_checked(carry_sum_fn *fn, const void *data, size_t size, uint32_t sum, bool dirty,
                      struct verdict *verdict);

/* The same, always with garbage, for fn(dst, src, size, sum). */
uint32_t call_checked_sum_copy(carry_sum_copy_fn *fn, void *dst, const void *src, size_t size,
                               uint32_t sum, struct verdict *verdict);

/* And for fn(dst, src, size). Returns what the register of results holds. */
uint64_t call_checked_copy(carry_copy_fn *fn, void *dst, const void *src, size_t size,
                           struct verdict *verdict);

/* What cannot be judged on this machine, or NULL. */
const char *call_limits(void);

#endif
