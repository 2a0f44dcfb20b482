/* SPDX-License-Identifier: MIT */
/* Broken twins of the switches of contexts: each is the right one with one fault. */
#ifndef CARRY_TESTS_BROKEN_CONTEXT_H
#define CARRY_TESTS_BROKEN_CONTEXT_H

#include "harness/check_context.h"

extern const struct context_calls broken_context_r15;      /* r15 is not kept */
extern const struct context_calls broken_context_fcw;      /* FCW stays as the other one had it */
extern const struct context_calls broken_context_x87;      /* it is loaded without need */
extern const struct context_calls broken_context_mxcsr;    /* so does MXCSR */
extern const struct context_calls broken_context_uppers;   /* they are left dirty */
extern const struct context_calls broken_context_red_zone; /* preemption writes below the stack */
extern const struct context_calls broken_context_flags;    /* preemption loses the flags */
extern const struct context_calls
    broken_context_vectors; /* and what is in zmm16 to zmm31, or xmm */

#endif
