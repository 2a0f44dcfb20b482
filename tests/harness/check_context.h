/* SPDX-License-Identifier: MIT */
/* Do contexts of x86-64 keep every register that they should? */
#ifndef CARRY_TESTS_CHECK_CONTEXT_H
#define CARRY_TESTS_CHECK_CONTEXT_H

#include <carry/context.h>
#include <carry/xstate.h>

#include "harness/verdict.h"

/* The library's, or broken ones. */
struct context_calls {
    uintptr_t (*go)(struct carry_context *from, struct carry_context *to, uintptr_t value);
    int (*preempt)(struct carry_context *from, struct carry_context *to, void *ucontext);
};

extern const struct context_calls context_calls;

/* Emulators call handlers with a stack that is less aligned than the ABI says. */
#define HANDLER __attribute__((force_align_arg_pointer))

/* The components that the checks fill, where the CPU has them. */
#define CHECKED_COMPONENTS                                                                         \
    (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE) | CARRY_XSTATE_BIT(AVX) |                       \
     CARRY_XSTATE_BIT(OPMASK) | CARRY_XSTATE_BIT(ZMM_HI256) | CARRY_XSTATE_BIT(HI16_ZMM))

/* A ring of contexts that each keep `mask` and have the components of `dirty` in use. */
struct verdict check_context_ring(const struct context_calls *calls, uint64_t mask, uint64_t dirty,
                                  unsigned rounds);

/*
 * Contexts that hold values in all registers while signals exchange them, and switch to each other
 * at random, in `threads` threads; on stacks of the handlers' own or not. Ends when each context
 * has done `rounds`, and each thread has seen as many preemptions.
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
