/* SPDX-License-Identifier: MIT */
/*
 * Reports switches between contexts to sanitizers. Sanitizers call a context a fiber, and keep data
 * about each stack (the call stack and clocks of ThreadSanitizer, the bounds and fake frames of
 * AddressSanitizer). In an operating-system kernel carry_host_has_fibers() returns false.
 */
#ifndef CARRY_BASE_FIBER_HOST_H
#define CARRY_BASE_FIBER_HOST_H

#include <carry/base.h>

struct carry_context;

/* Returns whether this process has a sanitizer that keeps data about stacks. Called when a context
 * is created. If it returns false, the functions below are never called. */
bool carry_host_has_fibers(void);

/*
 * Reports a switch. Called on the stack of `from`, just before the thread continues with `to`.
 * `from` will be resumed later, unless it has finished. The host keeps its data in the
 * contexts' member `fiber`, and the bounds of a stack that no caller has stated in `stack` and
 * `stack_size`.
 */
void carry_host_fiber_switch(struct carry_context *from, struct carry_context *to, bool finished);

/*
 * Checks whether the context that a signal interrupted can be preempted now. Returns CARRY_OK,
 * CARRY_ERROR_BUSY if the signal interrupted carry_host_fiber_switch(), or CARRY_ERROR_UNSUPPORTED
 * if signal handlers do not get the registers that were interrupted.
 */
int carry_host_fiber_preempts(void);

#endif
