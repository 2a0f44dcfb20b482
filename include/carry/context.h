/* SPDX-License-Identifier: MIT */
/*
 * Contexts: threads of control that share an operating-system thread, each on a stack of its own.
 *
 *     static struct carry_context here, there;
 *
 *     static struct carry_context *work(void *argument, uintptr_t value) {
 *         value = carry_context_switch(&there, &here, value + 1);
 *         return &here;                                    // `here` goes on; `there` is finished
 *     }
 *
 *     carry_context_adopt(&here, NULL, 0);
 *     carry_context_create(&there, stack, sizeof stack, work, NULL);
 *     carry_context_switch(&here, &there, 1);              // returns 2
 *     carry_context_switch(&here, &there, 0);              // returns 0
 *
 * Contract shared by all functions here:
 *  - A context is running, suspended or finished. A switch must go to a suspended context; a switch
 *    to a finished one faults at NULL.
 *  - A switch is a call. It keeps what calls keep: the callee-saved general registers, FCW and
 *    MXCSR (on AArch64 x19 to x30, d8 to d15 and FPCR). After a switch the upper halves of vectors
 *    are clean. To keep values in vector registers across a switch, name their components with
 *    carry_context_keep(). Preemption keeps every register.
 *  - State of the thread stays with the thread: thread-local storage, PKRU, the signal mask, the
 *    alternate signal stack.
 *  - A C++ exception must be caught in the context that throws it. An exception handler must not
 *    switch: the C++ run-time library counts the exceptions that each thread is handling.
 *  - Any thread may resume a suspended context, once the switch away from it has returned in the
 *    other context. Code in a context that changes threads must not hold addresses of thread-local
 *    variables across a switch. Compilers hold them in functions that use such variables before and
 *    after a switch.
 *  - No function allocates. The caller owns stacks, areas and contexts, and must not move them.
 *  - If AddressSanitizer or ThreadSanitizer is in the process, the library reports each switch to
 *    it, and stacks need some KiB more. ThreadSanitizer keeps memory for a context from the first
 *    switch to it until it finishes, and ends programs that have more than some 8,000 threads and
 *    such contexts. It also delays signals, so preemption is unsupported under it.
 *  - If the thread has a shadow stack (CET), contexts are refused with CARRY_ERROR_UNSUPPORTED:
 *    each context needs a shadow stack of its own, which only the operating system can make.
 *
 * Contexts work on x86-64 and AArch64; preemption works on x86-64. On other architectures, the
 * functions that create or preempt contexts return CARRY_ERROR_UNSUPPORTED.
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

/* Only the functions below may set these members. */
struct carry_context {
    void *stack_pointer; /* while suspended by a switch; NULL when finished */
    void *area;          /* extended state while suspended */
    uint64_t mask;       /* components that switches keep */
    uint32_t flags;
    uint32_t reserved;
    void *fiber; /* the sanitizer's handle for the context */
    void *stack; /* NULL if unknown */
    size_t stack_size;
    size_t area_size;
    uint64_t full_mask;                       /* components that preemption keeps */
    struct carry_context_registers registers; /* while suspended by preemption */
};

/*
 * The function that a new context runs; the first switch to the context passes `value`. When
 * the function returns, the context is finished, and the returned context goes on, with value 0.
 * The returned context may then use the finished context's stack for something else. Returning NULL
 * is an error that traps.
 */
typedef struct carry_context *carry_context_fn(void *argument, uintptr_t value);

/* The smallest stack accepted, in bytes. Code needs more, and so do signal handlers that have no
 * stack of their own. */
#define CARRY_CONTEXT_STACK_MIN 1024

/*
 * Makes a context that will run entry(argument, value) on `size` bytes at `stack`. It starts as
 * processes do: FCW 0x37f, MXCSR 0x1f80, upper halves of vectors clean. Nothing guards the end of
 * the stack. Returns 0, or
 *  CARRY_ERROR_SIZE         the stack is too small
 *  CARRY_ERROR_INVALID      `stack` or `entry` is NULL
 *  CARRY_ERROR_UNSUPPORTED  no contexts on this architecture, or the thread has a shadow stack
 */
CARRY_API int carry_context_create(struct carry_context *context, void *stack, size_t size,
                                   carry_context_fn *entry, void *argument);

/*
 * Makes a context of the calling thread, to switch away from. `stack` and `size` describe the
 * thread's stack, for carry_context_preempt(); `stack` is NULL if that is unknown.
 */
CARRY_API void carry_context_adopt(struct carry_context *context, void *stack, size_t size);

/* Returns the size of an area for the components of `mask` in any form, in bytes: a multiple of
 * CARRY_XSTATE_ALIGN. */
CARRY_API size_t carry_context_area_size(uint64_t mask);

/*
 * Gives an area to a context that is not suspended by preemption. A context without an area is
 * never preempted. In addition to what calls keep, switches keep the components of `mask` that are
 * in use (0: none). When a new context starts, these components are initial, but may be in use.
 * Leave X87 out of `mask` if its registers are empty at calls, as the ABI requires: each signal
 * leaves them in use, and on some CPUs so does each x87 instruction, even FLDCW. Returns 0, or
 *  CARRY_ERROR_INVALID  the area is not aligned to CARRY_XSTATE_ALIGN, or the context is
 *                       suspended by preemption
 *  CARRY_ERROR_SIZE     the area is smaller than carry_context_area_size(mask)
 */
CARRY_API int carry_context_keep(struct carry_context *context, void *area, size_t size,
                                 uint64_t mask);

/*
 * Suspends `from`, which must be the running context, and resumes `to`. Returns when `from` is
 * resumed: the value of the switch to it, or 0 if carry_context_preempt() or a context that
 * finished resumed it. A preempted `to` goes on where it was interrupted, and gets no value.
 */
CARRY_API uintptr_t carry_context_switch(struct carry_context *from, struct carry_context *to,
                                         uintptr_t value);

/*
 * Suspends `from`, which a signal has interrupted, with all its registers. The signal's handler
 * calls this function with its own third argument. When the handler returns, the thread goes on
 * with `to`. After an error nothing has changed, and the thread goes on with `from`:
 *  CARRY_ERROR_BUSY         the thread was in a switch, or not on the stack of `from`. A signal
 *                           may arrive after a scheduler has set its current context, but before
 *                           it has switched; the next signal finds the thread on the stack of
 *                           `from`
 *  CARRY_ERROR_SIZE         `from` has no area, or one too small for its components in use; or
 *                           its stack has no room for its general registers; or the frame has no
 *                           place for the components that `to` has in use (tiles, in a thread
 *                           that may not use them)
 *  CARRY_ERROR_INVALID      `to` is finished, or is `from`
 *  CARRY_ERROR_UNSUPPORTED  the frame lacks components that the CPU has (some emulators), or the
 *                           thread has a shadow stack, or ThreadSanitizer is in the process
 *
 * All contexts of a thread, preempted or not, share the C library's state of that thread. If a
 * context may be preempted inside a function that is not async-signal-safe (malloc(), printf()),
 *  - the other contexts must not call such functions, just as signal handlers must not; or
 *  - every caller of such functions must block the signal during the call.
 *
 * Signals that the handler blocked are unblocked when it returns. If other threads may resume
 * `from`, the handler must have a stack of its own (SA_ONSTACK). Signal handlers must not be
 * preempted themselves: block the signal in all of them, or let them run on another stack.
 */
CARRY_API int carry_context_preempt(struct carry_context *from, struct carry_context *to,
                                    void *ucontext);

/*
 * Does what carry_context_preempt() does for frames of another kind, such as the frames of
 * operating-system kernels. `registers` and `image` hold the interrupted state; the function
 * replaces it with the state of the context that goes on. The image must be in the standard form,
 * have a place for `components`, and be aligned to CARRY_XSTATE_ALIGN. All other components of the
 * CPU belong to the thread, as PKRU does.
 */
CARRY_API int carry_context_exchange(struct carry_context *from, struct carry_context *to,
                                     struct carry_context_registers *registers, void *image,
                                     uint64_t components);

CARRY_END_DECLS

#endif
