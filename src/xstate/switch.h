/* SPDX-License-Identifier: MIT */
/* Offsets in struct carry_context and its flags, for C and assembly. */
#ifndef CARRY_XSTATE_SWITCH_H
#define CARRY_XSTATE_SWITCH_H

#define CONTEXT_STACK_POINTER 0
#define CONTEXT_AREA          8
#define CONTEXT_MASK          16
#define CONTEXT_FLAGS         24
#define CONTEXT_FIBER         32
#define CONTEXT_FULL_MASK     64
#define CONTEXT_REGISTERS     72

/* Offsets in struct carry_context_registers. */
#define REGISTERS_RSP    120
#define REGISTERS_RIP    128
#define REGISTERS_RFLAGS 136
#define REGISTERS_SIZE   144

/*
 * Flags: what the CPU can do; whether `mask` is not empty (KEEPS), and has more than SSE (WIDE);
 * whether the context was preempted; whether switches are reported (base/fiber_host.h); whether the
 * context has ended.
 */
#define FLAG_NO_AVX    1
#define FLAG_XSAVE     2
#define FLAG_XSAVEC    4
#define FLAG_XGETBV1   8
#define FLAG_KEEPS     16
#define FLAG_WIDE      32
#define FLAG_PREEMPTED 64
#define FLAG_FIBERS    128
#define FLAG_FINISHED  256

/* Bytes below the stack pointer that functions may use (System V ABI, 3.2.2). */
#define RED_ZONE 128

#ifndef __ASSEMBLER__

#include <carry/context.h>

/* Checks whether contexts can be switched in this thread. Each architecture provides it. */
bool carry_context_supported(void);

/* Returns the flags for what the CPU can do. */
uint32_t carry_context_cpu_flags(void);

/* Stores the frame that the first switch to a new context pops. Returns its stack pointer. */
void *carry_context_first_frame(struct carry_context *context, void *end, carry_context_fn *entry,
                                void *argument);

#endif

#endif
