/* SPDX-License-Identifier: MIT */
/*
 * What sections of vector code ask of the kernel that they live in. src/hosted/section.c answers
 * for a process, which needs none.
 *
 * No hook switches interrupts: per-CPU words are enough, see <carry/section.h>. None of them may
 * use vector registers.
 */
#ifndef CARRY_BASE_SECTION_HOST_H
#define CARRY_BASE_SECTION_HOST_H

#include <carry/base.h>

struct carry_section_cpu;
struct carry_section_thread;

/* Keeps this thread on its CPU, and lets it go; calls nest. In interrupts they may do nothing. */
void carry_host_preempt_off(void);
void carry_host_preempt_on(void);

/* Is this an NMI, or something else that comes while interrupts are off? */
bool carry_host_in_nmi(void);

/* The words of this CPU, while preemption is off. NULL where there are no sections. */
struct carry_section_cpu *carry_host_section_cpu(void);

/*
 * Lets vector instructions run on this CPU: CLTS, in kernels that set CR0.TS. They set it again on
 * the way to user mode only, if a load is due there.
 */
void carry_host_vectors_allow(void);

/*
 * Has carry_section_reload(thread) called before this thread, which runs here or is about to,
 * returns to user mode: the last look for it is with interrupts off. Until then its registers are
 * not its own. Returns false if there is no such moment, as for threads that are all kernel mode:
 * the state is then loaded at once.
 */
bool carry_host_section_defer(struct carry_section_thread *thread);

#endif
