/* SPDX-License-Identifier: MIT */
/* Checks that contexts of x86-64 preserve every register that they should. */
#ifndef CARRY_TESTS_CHECK_CONTEXT_H
#define CARRY_TESTS_CHECK_CONTEXT_H

#include <carry/context.h>
#include <carry/xstate.h>

#include "harness/verdict.h"

/* The functions of the library, or of a mutant. */
struct context_calls {
    uintptr_t (*go)(struct carry_context *from, struct carry_context *to, uintptr_t value);
    int (*preempt)(struct carry_context *from, struct carry_context *to, void *ucontext);
};

extern const struct context_calls context_calls;

/* Emulators call handlers with a stack that is less aligned than the ABI demands. */
#define HANDLER __attribute__((force_align_arg_pointer))

/* The components that the checks fill, where the CPU has them. */
#define CHECKED_COMPONENTS                                                                         \
    (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE) | CARRY_XSTATE_BIT(AVX) |                       \
     CARRY_XSTATE_BIT(OPMASK) | CARRY_XSTATE_BIT(ZMM_HI256) | CARRY_XSTATE_BIT(HI16_ZMM))

/* Checks a ring of contexts, each of which keeps the components of `mask` and has the components of
 * `dirty` in use. */
struct verdict check_context_ring(const struct context_calls *calls, uint64_t mask, uint64_t dirty,
                                  unsigned rounds);

/*
 * Options of a check in which contexts hold values in all registers. They switch to each other at
 * random, and signals preempt them, in `threads` threads. If own_stack is true, signal handlers run
 * on a stack of their own. The check ends when each context has run `rounds` rounds and each thread
 * has seen as many preemptions.
 */
struct storm_options {
    unsigned threads;
    unsigned contexts;
    unsigned rounds;
    uint64_t mask;
    bool own_stack;
};

struct verdict check_context_storm(const struct context_calls *calls,
                                   const struct storm_options *options);

#endif
