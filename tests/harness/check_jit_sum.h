/* SPDX-License-Identifier: MIT */
/* The check that every function of carry_jit_sum() has to pass: as its spec allows it to be called.
 */
#ifndef CARRY_TESTS_CHECK_JIT_SUM_H
#define CARRY_TESTS_CHECK_JIT_SUM_H

#include <carry/jit.h>

#include "harness/effort.h"
#include "harness/verdict.h"

/* The largest size that the check calls functions with. */
#define CHECK_JIT_SUM_SIZE_MAX ((size_t)300001)

/*
 * Its size, or sizes from its range, at the end and at the start of memory with forbidden pages
 * around it and at any place that the alignment allows; on data that makes carries; with seeds that
 * do. Each call keeps the calling convention: see call.h. Copies are exact, and nothing else is
 * written.
 */
struct verdict check_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit *jit,
                             const struct effort *effort);

#endif
