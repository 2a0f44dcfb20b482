/* SPDX-License-Identifier: MIT */
/* Mutants of context switches: each is the right switch with one fault. */
#ifndef CARRY_TESTS_BROKEN_CONTEXT_H
#define CARRY_TESTS_BROKEN_CONTEXT_H

#include "harness/check_context.h"

extern const struct context_calls broken_context_r15;    /* r15 is not kept */
extern const struct context_calls broken_context_fcw;    /* FCW keeps the other context's value */
extern const struct context_calls broken_context_x87;    /* FCW is loaded needlessly */
extern const struct context_calls broken_context_mxcsr;  /* MXCSR keeps the other context's value */
extern const struct context_calls broken_context_uppers; /* upper halves are left dirty */
extern const struct context_calls broken_context_red_zone; /* preemption writes below the stack */
extern const struct context_calls broken_context_flags;    /* preemption loses the flags */
extern const struct context_calls
    broken_context_vectors; /* preemption loses zmm16 to zmm31, or xmm0 to xmm15 without AVX-512 */

#endif
