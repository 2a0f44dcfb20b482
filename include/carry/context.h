/* SPDX-License-Identifier: MIT */
/*
 * Contexts: threads of control that share a thread of the system, each on a stack of its own.
 *
 *     static struct carry_context here, there;
 *
 *     static struct carry_context *work(void *argument, uintptr_t value) {
 *         value = carry_context_switch(&there, &here, value + 1);
 *         return &here;                                    // goes on there; `there` is finished
 *     }
 *
 *     carry_context_adopt(&here, NULL, 0);
 *     carry_context_create(&there, stack, sizeof stack, work, NULL);
 *     carry_context_switch(&here, &there, 1);              // returns 2
 *     carry_context_switch(&here, &there, 0);              // returns 0
 *
 * Contract shared by all functions here:
 *  - A context runs, is suspended, or is finished. Only one that is suspended is switched to; to
 *    switch to one that is finished faults at NULL.
 *  - A switch is a call: it keeps what calls keep (the general registers of callees, FCW and
 *    MXCSR; on AArch64 x19 to x30, d8 to d15 and FPCR), and the upper halves of vectors are clean
 *    behind it. Whoever has values in vector registers across it names their components by
 *    carry_context_keep(). Being preempted keeps every register.
 *  - What belongs to the thread stays with it: thread-local storage, PKRU, the signal mask, the
 *    alternate signal stack.
 *  - Exceptions of C++ are caught in the context that throws them. A handler does not switch: the
 *    language's run-time library counts those that are being handled by threads.
 *  - A suspended context may be resumed by any thread, once the switch away from it has returned
 *    on the other side. Code in it must then not hold addresses of thread-local variables across
 *    a switch; compilers do, in functions that use such variables before and after it.
 *  - Nothing allocates. Stacks, areas and contexts are the caller's, and must not move.
 *  - Where AddressSanitizer or ThreadSanitizer is in the process, the library reports each switch
 *    to it; stacks need some KiB more then. ThreadSanitizer keeps memory for a context from the
 *    first switch to it until it finishes, ends programs that have more than some 8,000 threads and
 *    such contexts, and delays signals, so there is no preemption under it.
 *  - Where the thread has a shadow stack (CET), contexts are refused by CARRY_ERROR_UNSUPPORTED:
 *    each needs one of its own, which only the system can make.
 *
 * x86-64 and AArch64; preemption on x86-64. CARRY_ERROR_UNSUPPORTED elsewhere.
 */
#ifndef CARRY_CONTEXT_H
#define CARRY_CONTEXT_H

#include <carry/base.h>

CARRY_BEGIN_DECLS

/* General registers of x86-64, in the order of Linux's signal frames. */
struct carry_context_registers {
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags;
};

/* To be set by the functions below alone. */
struct carry_context {
    void *stack_pointer; /* while suspended by a switch; NULL when finished */
    void *area;          /* extended state while suspended */
    uint64_t mask;       /* components that switches keep */
    uint32_t flags;
    uint32_t reserved;
    void *fiber; /* what a sanitizer knows it by */
    void *stack; /* NULL if unknown */
    size_t stack_size;
    size_t area_size;
    uint64_t full_mask;                       /* components that preemption keeps */
    struct carry_context_registers registers; /* while suspended by preemption */
};

/*
 * What a new context runs, with the value of the first switch to it. When it returns, the context
 * is finished, and the one returned goes on, with 0 as its value: that one may then use the stack
 * for something else. To return NULL is an error that traps.
 */
typedef struct carry_context *carry_context_fn(void *argument, uintptr_t value);

/* The smallest stack that is taken. Code needs more, and handlers without a stack of their own. */
#define CARRY_CONTEXT_STACK_MIN 1024

/*
 * Makes a context that is to run entry(argument, value) on `size` bytes at `stack`. It starts as
 * processes do: FCW 0x37f, MXCSR 0x1f80, upper halves of vectors clean. Nothing guards the end of
 * the stack. Returns 0, or
 *     CARRY_ERROR_SIZE         it is too small
 *     CARRY_ERROR_INVALID      there is no stack, or nothing to run
 *     CARRY_ERROR_UNSUPPORTED  no contexts on this architecture, or the thread has a shadow stack
 */
CARRY_API int carry_context_create(struct carry_context *context, void *stack, size_t size,
                                   carry_context_fn *entry, void *argument);

/*
 * Makes a context of the thread that calls, to switch away from. `stack` and `size` say where its
 * stack is, for carry_context_preempt(); NULL if that is unknown.
 */
CARRY_API void carry_context_adopt(struct carry_context *context, void *stack, size_t size);

/* Bytes of an area for the components of `mask` in any form, a multiple of CARRY_XSTATE_ALIGN. */
CARRY_API size_t carry_context_area_size(uint64_t mask);

/*
 * Gives a context that is not suspended by preemption an area, without which it is not preempted.
 * Switches keep the components of `mask` that are in use, beside what calls keep; 0 for none of
 * them. They are initial when a new context starts, but may be in use. Leave X87 out where its
 * registers are empty at calls, as the ABI says: each signal leaves them in use, and on some CPUs
 * each instruction of x87 does, FLDCW too. Returns 0, or
 *     CARRY_ERROR_INVALID  the area is not aligned to CARRY_XSTATE_ALIGN, or the context is
 *                          suspended by preemption
 *     CARRY_ERROR_SIZE     the area is smaller than carry_context_area_size(mask)
 */
CARRY_API int carry_context_keep(struct carry_context *context, void *area, size_t size,
                                 uint64_t mask);

/*
 * Suspends `from`, which runs, and resumes `to`. Returns when `from` is resumed: the value of the
 * switch to it, or 0 when carry_context_preempt() or a context that finished led to it. A
 * preempted `to` goes on where it was interrupted; it gets no value.
 */
CARRY_API uintptr_t carry_context_switch(struct carry_context *from, struct carry_context *to,
                                         uintptr_t value);

/*
 * In a signal handler, with its third argument: suspends `from`, which the signal interrupted, with
 * all its registers, and lets the thread go on with `to` when the handler returns. On errors
 * nothing has changed, and the thread goes on with `from`:
 *
 *     CARRY_ERROR_BUSY         the thread was in a switch, or not on the stack of `from`: a
 *                              scheduler that sets its current context before it switches may be
 *                              interrupted between; the next signal finds it where it should be
 *     CARRY_ERROR_SIZE         `from` lacks an area, or one for what is in use; or room on its
 *                              stack for its general registers; or the frame has no place for what
 *                              `to` has in use (tiles, in a thread that may not use them)
 *     CARRY_ERROR_INVALID      `to` is finished, or is `from`
 *     CARRY_ERROR_UNSUPPORTED  the frame does not hold what the CPU has (some emulators), or the
 *                              thread has a shadow stack, or under ThreadSanitizer
 *
 * What the C library keeps for the thread is that of all its contexts, preempted or not: where one
 * may be preempted inside of a function that is not async-signal-safe (malloc(), printf()), others
 * call none such, as handlers of signals do not; or whoever calls them blocks the signal meanwhile.
 *
 * The signals that the handler blocked are unblocked when it returns. If other threads may resume
 * `from`, the handler has a stack of its own (SA_ONSTACK). Handlers must not be preempted
 * themselves: block the signal in all of them, or let them run on another stack.
 */
CARRY_API int carry_context_preempt(struct carry_context *from, struct carry_context *to,
                                    void *ucontext);

/*
 * The same for those who have frames of another kind, as kernels do: `registers` and `image` are
 * what was interrupted, and become what is to go on. The image is in the standard form, has a place
 * for `components`, and is aligned to CARRY_XSTATE_ALIGN; what else the CPU has belongs to the
 * thread, as PKRU does.
 */
CARRY_API int carry_context_exchange(struct carry_context *from, struct carry_context *to,
                                     struct carry_context_registers *registers, void *image,
                                     uint64_t components);

CARRY_END_DECLS

#endif
