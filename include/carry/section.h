/* SPDX-License-Identifier: MIT */
/*
 * Sections of kernels that use vector registers, which hold the state of threads.
 *
 *     struct carry_section section;
 *     if (size >= threshold && !carry_section_begin(&section, NULL, 0)) {
 *         sum = carry_sum(data, size, sum);               // any kernel
 *         carry_section_end(&section);
 *     } else {
 *         sum = scalar(data, size, sum);                  // general registers alone
 *     }
 *
 * `scalar` is the row of carry_sum_kernel() that has 64 vector_bits and is available; below
 * `threshold`, which the caller measures, a section takes longer than it saves: some hundred bytes
 * to 2 KiB.
 *
 * Contract shared by all functions here:
 *  - The registers belong to a thread, its *owner* on this CPU, or to the innermost section, or
 *    hold nothing that is needed. A section that begins saves what its owner has there into the
 *    owner's area, once until it is loaded again; the section ends without loading it. The host is
 *    asked to have it loaded when the thread returns to user mode, or else it is loaded at once.
 *  - Preemption is off in a section: threads are not switched inside of one, so a section needs no
 *    area for itself. Sections of one context end in the reverse order of their begins.
 *  - The CPU has one word for "in use", which is set before anything else is touched and cleared
 *    after it. Interrupts need not be off: one that finds it set is told so (CARRY_ERROR_BUSY), or
 *    brings an area and leaves all as it was, at whatever instruction it came.
 *  - A section may use what carry_xstate_default() has, without tiles; a thread whatever its mask
 *    says. Supervisor components and PKRU are the kernel's.
 *  - Nothing here is for NMIs, machine checks and what else comes while interrupts are off: an NMI
 *    after the last look for loads that are due would return to a thread without its state.
 *  - The core must be built for general registers alone (-mgeneral-regs-only) where it runs outside
 *    of sections; what saves and loads registers is so in any build. At boot, before CR0.TS is set,
 *    one CPU calls carry_xstate_default(), so that no CPUID is executed later.
 *  - A kernel answers as src/base/section_host.h says. Processes have their registers to
 *    themselves, and where nothing can be saved (other architectures than x86-64) threads would
 *    lose state: sections are CARRY_ERROR_UNSUPPORTED there, and callers take the scalar path.
 */
#ifndef CARRY_SECTION_H
#define CARRY_SECTION_H

#include <carry/xstate.h>

CARRY_BEGIN_DECLS

struct carry_section;
struct carry_section_thread;

/* The library's, one in the data of each CPU; starts as zeros. */
struct carry_section_cpu {
    struct carry_section *section;      /* the innermost; NULL: not in use by the kernel */
    struct carry_section_thread *owner; /* whose state is in the registers, and only there */
    struct carry_section_thread *kept;  /* whose saved state they still hold; perhaps freed */
};

/* The library's, one in each thread that has vector state. */
struct carry_section_thread {
    void *area; /* where its state is saved: carry_xstate_area_size(mask) bytes of the kernel's */
    uint64_t mask;
    struct carry_section_cpu *cpu; /* whose registers got its state last */
};

/* The library's, on the stack of whoever begins. */
struct carry_section {
    struct carry_section *outer; /* that was interrupted */
    struct carry_section_cpu *cpu;
    struct carry_section_thread *thread; /* whose state was saved */
    void *area;                          /* of the outer section's registers */
};

/* --- Sections --- */

#define CARRY_SECTION_X87 1u /* flag: initialise x87 too (FNINIT), for sections that use it */

/*
 * Begins a section: the registers are the caller's, with MXCSR as the CPU starts with it, upper
 * halves clean, and everything else undefined. `area` is NULL or, for sections that must not be
 * refused because they interrupt another, carry_xstate_area_size(carry_xstate_default()) bytes
 * that nobody else uses until the end. Returns 0, or, with nothing changed,
 *  CARRY_ERROR_BUSY         another section was interrupted, and there is no area
 *  CARRY_ERROR_CONTEXT      in an NMI
 *  CARRY_ERROR_UNSUPPORTED  in a process, or on an architecture without XSAVE
 * Context: threads, soft and hard interrupts, in any state of the interrupt flag.
 */
CARRY_API int carry_section_begin(struct carry_section *section, void *area, unsigned flags);

/* Ends it; interrupted sections and owners find their registers as they were. Context: the same. */
CARRY_API void carry_section_end(struct carry_section *section);

/* --- Threads --- */

/*
 * These return 0, or CARRY_ERROR_BUSY, with nothing changed, if called inside a section, which is
 * a bug of the caller, and otherwise CARRY_ERROR_CONTEXT and CARRY_ERROR_UNSUPPORTED as above.
 * Context: thread, preemption off, in any state of the interrupt flag.
 */

/*
 * The scheduler switches from the current thread to `next`, or to one without vector state if it
 * is NULL: the registers of their owner are saved. Called before or after it is called current.
 */
CARRY_API int carry_section_switch(struct carry_section_thread *next);

/*
 * Loads the state of the current thread, unless the registers hold it: when it is about to return
 * to user mode, interrupts off, and has been told by carry_host_section_defer(), or when it met
 * CR0.TS (#NM).
 */
CARRY_API int carry_section_reload(struct carry_section_thread *thread);

/*
 * Brings the area of the current thread up to date, whose registers stay its own: for fork, which
 * then copies the area into that of a thread created with the same mask, signal frames, dumps.
 */
CARRY_API int carry_section_sync(struct carry_section_thread *thread);

/*
 * What the registers hold of a thread that is the current one, or not running, counts no more: it
 * exits, or the kernel writes its area (exec, return from a signal, ptrace). One that goes on needs
 * a carry_section_reload(), which the caller has done. Always succeeds.
 */
CARRY_API void carry_section_forget(struct carry_section_thread *thread);

/*
 * Makes a thread in its initial state, with XSTATE_BV 0. It is not running yet.
 * `mask` is carry_xstate_default(), with TILEDATA if the thread may use it. The memory is the
 * caller's, of CARRY_XSTATE_ALIGN alignment. Context: any.
 */
CARRY_API void carry_section_create(struct carry_section_thread *thread, void *area, uint64_t mask);

CARRY_END_DECLS

#endif
