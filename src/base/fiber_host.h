/* SPDX-License-Identifier: MIT */
/*
 * Who has to know of switches between contexts: sanitizers, which keep data about each stack (the
 * call stack and clocks of ThreadSanitizer, the bounds and fake frames of AddressSanitizer), and
 * call what has a stack a fiber. A kernel has none, and answers false.
 */
#ifndef CARRY_BASE_FIBER_HOST_H
#define CARRY_BASE_FIBER_HOST_H

#include <carry/base.h>

struct carry_context;

/* Is there such a sanitizer in this process? Asked when a context is made; else nothing below. */
bool carry_host_has_fibers(void);

/*
 * The thread goes on with `to` at once: called on the stack of `from`, which is to be resumed later
 * unless it has finished. Keeps what it needs in `fiber`, and the bounds of stacks of which nobody
 * has told them.
 */
void carry_host_fiber_switch(struct carry_context *from, struct carry_context *to, bool finished);

/*
 * Before a context is preempted: CARRY_OK, CARRY_ERROR_BUSY if the thread was in the function
 * above, CARRY_ERROR_UNSUPPORTED if handlers do not see what they interrupted.
 */
int carry_host_fiber_preempts(void);

#endif
