/* SPDX-License-Identifier: MIT */
/* The check that every function of carry_jit_sum() must pass, in all calls that its spec allows. */
#ifndef CARRY_TESTS_CHECK_JIT_SUM_H
#define CARRY_TESTS_CHECK_JIT_SUM_H

#include <carry/jit.h>

#include "harness/effort.h"
#include "harness/verdict.h"

/* The largest size that the check calls functions with. */
#define CHECK_JIT_SUM_SIZE_MAX ((size_t)300001)

/*
 * Calls the function with its size, or with sizes from its range. Tries runs at the end and at the
 * start of memory between forbidden pages, and at random aligned places. Data and
 * seeds cause carries. Each call must follow the calling convention (see call.h). Copies must be
 * exact, and nothing else may be written.
 */
struct verdict check_jit_sum(const struct carry_jit_sum_spec *spec, const struct carry_jit *jit,
                             const struct effort *effort);

#endif
