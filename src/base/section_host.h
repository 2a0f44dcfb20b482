/* SPDX-License-Identifier: MIT */
/*
 * Functions that sections of vector code call, and that an operating-system kernel provides. In a
 * process, which needs no sections, src/hosted/hosted_section.c provides them.
 *
 * No function needs to switch interrupts off: per-CPU words are enough, see <carry/section.h>. No
 * function may use vector registers.
 */
#ifndef CARRY_BASE_SECTION_HOST_H
#define CARRY_BASE_SECTION_HOST_H

#include <carry/base.h>

struct carry_section_cpu;
struct carry_section_thread;

/*
 * Keep this thread on its CPU, and allow it to move again. Calls nest. In interrupts both functions
 * may do nothing.
 */
void carry_host_preempt_off(void);
void carry_host_preempt_on(void);

/* Returns whether this code runs in an NMI, or in another interrupt that arrives even while
 * interrupts are off. */
bool carry_host_in_nmi(void);

/* Returns the words of this CPU, or NULL if there are no sections. Called with preemption off. */
struct carry_section_cpu *carry_host_section_cpu(void);

/*
 * Enables vector instructions on this CPU, in kernels that let them trap: clears CR0.TS, or sets
 * CPACR_EL1.FPEN. Such a kernel lets them trap again only on the way to user mode, if the state of
 * the thread must be loaded there.
 */
void carry_host_vectors_allow(void);

/*
 * Arranges that carry_section_reload(thread) is called before `thread` returns to user mode.
 * `thread` runs on this CPU, or is about to. The last check for pending loads must run with
 * interrupts off. Until the load, the registers do not hold the state of `thread`. Returns false if
 * the thread never returns to user mode, such as a thread of the operating system itself: the state
 * is then loaded at once.
 */
bool carry_host_section_defer(struct carry_section_thread *thread);

#endif
