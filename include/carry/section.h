/* SPDX-License-Identifier: MIT */
/*
 * Sections: stretches of an operating-system kernel's code that use vector registers, which hold
 * the state of threads.
 *
 *     struct carry_section section;
 *     if (size >= threshold && !carry_section_begin(&section, NULL, 0)) {
 *         sum = carry_sum(data, size, sum);               // any implementation
 *         carry_section_end(&section);
 *     } else {
 *         sum = scalar(data, size, sum);                  // general registers only
 *     }
 *
 * `scalar` is the available kernel of carry_sum_kernel() whose vector_bits is 64. Below `threshold`
 * a section costs more time than it saves. The caller measures the threshold, which is between some
 * hundred bytes and 2 KiB.
 *
 * Contract shared by all functions here:
 *  - The registers of a CPU belong to a thread (their *owner*), or to the innermost section, or
 *    hold nothing that is needed. A section that begins saves the owner's state into the owner's
 *    area, unless the area already holds that state. A section that ends does not load the state
 *    itself. It asks the host to have the state loaded when the thread returns to user mode; if the
 *    host cannot, the state is loaded at once.
 *  - Preemption is off in a section: threads are not switched inside it, so a section needs no area
 *    for itself. Sections of one context must end in the reverse order of their begins.
 *  - Each CPU has one word that says "in use". It is set before anything else is touched, and
 *    cleared after everything else. Interrupts may stay on. An interrupt that finds the word set
 *    either gets CARRY_ERROR_BUSY, or provides an area and leaves everything as it was, at whatever
 *    instruction it arrived.
 *  - On x86-64, a section may use the components of carry_xstate_default() without tiles; a thread
 *    may use the components of its mask. Supervisor components and PKRU belong to the
 *    operating-system kernel.
 *  - On AArch64, sections and threads may use v0 to v31, FPSR and FPCR, whatever a mask says. SVE
 *    and SME belong to the operating-system kernel, which must not begin a section while the
 *    registers hold a thread's SVE state: it saves that first.
 *  - These functions are not for NMIs, machine checks or anything else that arrives while
 *    interrupts are off: an NMI after the last check for loads that are due would return to a
 *    thread without its state.
 *  - The core must be built for general registers only (-mgeneral-regs-only) where it runs outside
 *    sections. The code that saves and loads registers is always built so. At boot, before
 *    CR0.TS is set, one CPU must call carry_xstate_default(), so that no CPUID is executed later.
 *  - An operating-system kernel provides the functions of src/base/section_host.h.
 *  - Sections return CARRY_ERROR_UNSUPPORTED in processes, which have their registers to
 *    themselves, and on architectures other than x86-64 and AArch64, where nothing can be saved and
 *    threads would lose state. Callers then use the scalar path.
 */
#ifndef CARRY_SECTION_H
#define CARRY_SECTION_H

#include <carry/xstate.h>

CARRY_BEGIN_DECLS

struct carry_section;
struct carry_section_thread;

/* Private to the library; one in the data of each CPU, all zeros at first. */
struct carry_section_cpu {
    struct carry_section *section;      /* the innermost; NULL: not in use by the kernel */
    struct carry_section_thread *owner; /* only the registers hold its state */
    struct carry_section_thread *kept;  /* may be freed; the registers still hold its saved state */
};

/* Private to the library; one in each thread that has vector state. */
struct carry_section_thread {
    void *area; /* for the thread's state; the caller owns its carry_xstate_area_size(mask) bytes */
    uint64_t mask;
    struct carry_section_cpu *cpu; /* the last CPU whose registers got its state */
};

/* Private to the library; on the stack of the code that begins the section. */
struct carry_section {
    struct carry_section *outer; /* the section that was interrupted */
    struct carry_section_cpu *cpu;
    struct carry_section_thread *thread; /* the thread whose state was saved */
    void *area;                          /* for the outer section's registers */
};

/* --- Sections --- */

#define CARRY_SECTION_X87 1u /* flag: initialise x87 too (FNINIT), for sections that use it */

/*
 * Begins a section: the caller may use the registers. MXCSR has the value that the CPU starts with,
 * upper halves are clean, FPSR and FPCR are 0, and everything else is undefined. `area` is NULL, or
 * points to carry_xstate_area_size(carry_xstate_default()) bytes that nothing else uses until the
 * section ends: with such an area, a section may interrupt another one. Returns 0, or, with nothing
 * changed,
 *  CARRY_ERROR_BUSY         another section was interrupted, and `area` is NULL
 *  CARRY_ERROR_CONTEXT      in an NMI
 *  CARRY_ERROR_UNSUPPORTED  in a process, or where no component of the state can be saved
 * Context: threads, soft and hard interrupts, in any state of the interrupt flag.
 */
CARRY_API int carry_section_begin(struct carry_section *section, void *area, unsigned flags);

/* Ends a section. Interrupted sections and owners find their registers as they were. Context: as
 * carry_section_begin(). */
CARRY_API void carry_section_end(struct carry_section *section);

/* --- Threads --- */

/*
 * These functions return 0, or, with nothing changed,
 *  CARRY_ERROR_BUSY                              inside a section: a bug in the caller
 *  CARRY_ERROR_CONTEXT, CARRY_ERROR_UNSUPPORTED  as carry_section_begin()
 * Context: thread, preemption off, in any state of the interrupt flag.
 */

/*
 * Saves the state of the thread that owns the registers, for a scheduler that switches from the
 * current thread to `next` (NULL: to a thread without vector state). May be called before or after
 * `next` becomes current.
 */
CARRY_API int carry_section_switch(struct carry_section_thread *next);

/*
 * Loads the state of the current thread, unless the registers hold it. Call this
 *  - when the thread is about to return to user mode, interrupts off, and
 *    carry_host_section_defer() was called for it; or
 *  - when the thread has trapped because of CR0.TS (#NM) or CPACR_EL1.FPEN.
 */
CARRY_API int carry_section_reload(struct carry_section_thread *thread);

/*
 * Brings the area of the current thread up to date; the thread keeps its registers. Call it for
 * signal frames and dumps, and before fork copies the area into the area of a thread created with
 * the same mask.
 */
CARRY_API int carry_section_sync(struct carry_section_thread *thread);

/*
 * Discards a thread's state held in registers. The thread must be the current one, or not running.
 * Call it for a thread that exits, or whose area the operating-system kernel writes (exec, return
 * from a signal, ptrace). If the thread goes on, the caller must have carry_section_reload() called
 * for it. Always succeeds.
 */
CARRY_API void carry_section_forget(struct carry_section_thread *thread);

/*
 * Sets the state of a thread that does not run yet to the initial state: XSTATE_BV is 0; on AArch64
 * v0 to v31, FPSR and FPCR are 0. `mask` is carry_xstate_default(), with TILEDATA if the thread may
 * use tiles. The caller owns the memory at `area`, which must be aligned to CARRY_XSTATE_ALIGN.
 * Context: any.
 */
CARRY_API void carry_section_create(struct carry_section_thread *thread, void *area, uint64_t mask);

CARRY_END_DECLS

#endif
