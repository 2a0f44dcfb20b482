/* SPDX-License-Identifier: MIT */
/* An architecture without a fault table, where no fault is survived. */
#include "hosted/hosted_context.h"

bool carry_ucontext_can_recover(void) {
    return false;
}

bool carry_ucontext_is_exact(void) {
    return false;
}

void carry_ucontext_leave_frame(void *context, uintptr_t *value) {
    (void)context;
    (void)value;
}

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value) {
    (void)context;
    (void)recovery;
    (void)value;
}
