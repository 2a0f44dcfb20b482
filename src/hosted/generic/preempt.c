/* SPDX-License-Identifier: MIT */
/* An architecture on which contexts cannot be preempted. */
#include <carry/context.h>

int carry_context_preempt(struct carry_context *from, struct carry_context *to, void *ucontext) {
    (void)from;
    (void)to;
    (void)ucontext;
    return CARRY_ERROR_UNSUPPORTED;
}
